-- name: subjects
SELECT ref, handle, body, consent FROM subjects;

-- name: turns
SELECT id, handle, body, author, revision, role, at FROM turns;

-- name: controls
SELECT id, handle, body, action, actor, outcome FROM controls;

-- name: candidates
SELECT id, handle, body, turn, control, type, source_type FROM candidates;

-- name: memories
SELECT id, handle, body, version, status, type, polarity, source_type, sensitivity, visibility,
       confidence, importance, explicit, source_count, valid_from, valid_to
FROM memories;

-- name: decisions
SELECT handle, NULL::bytea, candidate, candidate, outcome, rule, reasons, policy_hash FROM decisions;

-- name: memory_versions
SELECT handle, body, memory, memory, version, status, actor, rule, candidate FROM memory_versions;

-- name: sources
SELECT handle, body, candidate, memory, candidate, turn, at FROM sources;

-- name: lineage
-- Without copies: which of them there are is a matter of who asked when.
SELECT handle, NULL::bytea, child, child_kind, child, parent_kind, parent FROM lineage
WHERE child_kind NOT IN ('trace', 'cached', 'window');

-- name: vectors
SELECT handle, NULL::bytea, memory, memory, version, state FROM vectors;

-- name: refusals
SELECT handle, NULL::bytea, id, outcome FROM refusals;
