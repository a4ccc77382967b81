-- What recall leaves behind, and what it looks for beside the index.

-- One row a recall: what was found, dropped and why, and given. id is random. body: sealed {query, hits, drops, items}.
-- memories: ids of what was given, so that one can ask where a memory went; rows are erased by handle.
CREATE TABLE traces (
    id bytea PRIMARY KEY,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    policy_version text NOT NULL,
    index_version text NOT NULL,
    degraded boolean NOT NULL,
    memories bytea[] NOT NULL,
    body bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX traces_handle ON traces (handle, at);

-- Stores a trace in one round trip, and only while the subject is still who was read: a trace must not outlive a Block.
-- plpgsql, since each statement in it sees what was committed before that statement, so the row is read under the lock.
CREATE FUNCTION leave_trace(
    subject_lock bigint, subject_ref bytea, subject_handle bytea, subject_epoch integer, trace bytea,
    policy text, index text, without_index boolean, given bytea[], sealed bytea
) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(subject_lock);
    INSERT INTO traces (id, handle, epoch, policy_version, index_version, degraded, memories, body)
    SELECT trace, s.handle, s.epoch, policy, index, without_index, given, sealed
    FROM subjects s
    WHERE s.ref = subject_ref AND s.handle = subject_handle AND s.epoch = subject_epoch AND s.consent <> 'paused';
    RETURN FOUND;
END
$$;

-- Conflict sets are few and are shown with every recall of their subject (C7).
CREATE INDEX memories_conflicted ON memories (handle) WHERE status = 'conflicted';
