-- conversation: the ref under which consent of the conversation is kept, so that the gate can ask for it again.
-- extractor: who proposed what was decided; it outlives the candidate.
ALTER TABLE candidates ADD COLUMN conversation bytea;
ALTER TABLE decisions ADD COLUMN extractor text NOT NULL DEFAULT '';
