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

-- Conflict sets are few and are shown with every recall of their subject (C7).
CREATE INDEX memories_conflicted ON memories (handle) WHERE status = 'conflicted';
