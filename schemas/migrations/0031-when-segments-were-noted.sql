-- When the segments were noted and, on a server, its write-ahead log had been turned over: some flushes later the log has
-- been cut.
ALTER TABLE erasures ADD COLUMN segments_at timestamptz;
