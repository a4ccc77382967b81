-- Edits are few; what was drawn from an older text is looked for after them (W1).
CREATE INDEX turns_edited ON turns (stored_at) WHERE revision > 0;
