-- What the index does not hold yet, found in time proportional to that alone.
CREATE INDEX memories_unindexed ON memories (updated_at)
    WHERE status = 'active' AND indexed_version IS DISTINCT FROM version;
