-- What is past its time goes by the erasers, in batches (D12).

-- Row number of the newest turn of a person whose row is gone: a control stands after it, whatever is left in the log.
ALTER TABLE subjects ADD COLUMN turns_gone bigint NOT NULL DEFAULT 0;

CREATE INDEX turns_stored ON turns USING brin (stored_at);
CREATE INDEX memories_expired ON memories (expires_at) WHERE status = 'expired';
