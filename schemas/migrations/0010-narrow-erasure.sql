-- What a selector narrower than a subject takes: {"ids": {kind: [hex]}, "counts": {table: rows deleted}}.
-- waits: ends of logs that the pipeline must pass before "nothing found" may be said of it.
ALTER TABLE erasures ADD COLUMN items jsonb, ADD COLUMN waits jsonb;

-- An erased person's words stand in other people's groups too (W11); turns may be gone before them.
CREATE INDEX sources_author ON sources (author);
