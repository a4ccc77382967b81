-- name: turns_of_conversation
SELECT id FROM turns WHERE handle = %s AND conversation = %s;

-- name: turns_of_time
SELECT id FROM turns
WHERE handle = %(handle)s AND at >= COALESCE(%(since)s, '-infinity'::timestamptz)
  AND at < COALESCE(%(until)s, 'infinity'::timestamptz);

-- name: turns_of_author
SELECT id FROM turns WHERE handle = %s AND author = %s;

-- name: sources_of_turns
SELECT memory, candidate FROM sources WHERE handle = %s AND turn = ANY(%s);

-- name: sources_of_conversation
SELECT memory, candidate FROM sources WHERE handle = %s AND conversation = %s;

-- name: sources_of_time
SELECT memory, candidate FROM sources
WHERE handle = %(handle)s AND turn IS NOT NULL
  AND at >= COALESCE(%(since)s, '-infinity'::timestamptz)
  AND at < COALESCE(%(until)s, 'infinity'::timestamptz);

-- name: sources_of_author
SELECT memory, candidate FROM sources WHERE handle = %s AND author = %s;

-- name: candidates_of_turns
SELECT id FROM candidates WHERE handle = %s AND turn = ANY(%s);

-- name: candidates_of_author
SELECT id FROM candidates WHERE handle = %s AND author = %s;

-- name: bodies_of_candidates
SELECT id, body FROM candidates WHERE handle = %s;

-- name: bodies_of_memories
SELECT id, body FROM memories WHERE handle = %s;

-- name: bodies_of_controls
SELECT id, body FROM controls WHERE handle = %s;

-- name: candidates_of_controls
SELECT id FROM candidates WHERE handle = %s AND control = ANY(%s);

-- name: memory
SELECT id FROM memories WHERE handle = %s AND id = %s;

-- name: sources_of_memories
SELECT memory, candidate, body FROM sources WHERE handle = %s AND memory = ANY(%s);

-- name: messages_of_turns
SELECT id, body FROM turns WHERE handle = %s AND id = ANY(%s);

-- name: orphaned
-- Memories that keep nothing which says that they hold, once these sources are gone.
SELECT m.id FROM memories AS m
WHERE m.handle = %(handle)s AND m.id = ANY(%(memories)s)
  AND NOT EXISTS (
    SELECT FROM sources AS s
    WHERE s.memory = m.id AND NOT s.candidate = ANY(%(candidates)s)
      AND s.kind NOT IN ('decline', 'disable', 'move'));

-- name: slots
SELECT DISTINCT identity FROM memories WHERE handle = %s AND id = ANY(%s);

-- name: slots_of_endings
SELECT DISTINCT identity FROM endings
WHERE handle = %(handle)s AND (turn = ANY(%(turns)s) OR candidate = ANY(%(candidates)s));

-- name: points
SELECT point FROM vectors WHERE handle = ANY(%s) AND memory = ANY(%s);

-- name: copies
-- What lineage says was made from turns and memories: traces, kept answers, session windows.
SELECT child_kind, child FROM lineage
WHERE handle = ANY(%s) AND parent = ANY(%s) AND child_kind IN ('trace', 'cached', 'window');

-- name: deleted_versions
SELECT id, version, handle FROM memories WHERE handle = ANY(%s) AND id = ANY(%s);

-- name: delete_traces
DELETE FROM traces WHERE handle = ANY(%(handles)s) AND id = ANY(%(traces)s);

-- name: delete_lineage
DELETE FROM lineage
WHERE handle = ANY(%(handles)s) AND (child = ANY(%(all)s) OR parent = ANY(%(all)s));

-- name: delete_security_events
DELETE FROM security_events AS e USING turns AS t
WHERE e.handle = ANY(%(handles)s) AND t.id = ANY(%(logged)s)
  AND (e.log, e.part, e.pos) = (t.log, t.part, t.pos);

-- name: delete_endings
DELETE FROM endings
WHERE handle = ANY(%(handles)s) AND (turn = ANY(%(turns)s) OR candidate = ANY(%(candidates)s));

-- name: delete_sources
DELETE FROM sources
WHERE handle = ANY(%(handles)s) AND (candidate = ANY(%(candidates)s) OR memory = ANY(%(memories)s));

-- name: delete_memory_versions
DELETE FROM memory_versions WHERE handle = ANY(%(handles)s) AND memory = ANY(%(memories)s);

-- name: delete_memories
DELETE FROM memories WHERE handle = ANY(%(handles)s) AND id = ANY(%(memories)s);

-- name: delete_decisions
DELETE FROM decisions WHERE handle = ANY(%(handles)s) AND candidate = ANY(%(candidates)s);

-- name: delete_candidates
DELETE FROM candidates WHERE handle = ANY(%(handles)s) AND id = ANY(%(drafts)s);

-- name: delete_controls
DELETE FROM controls WHERE handle = ANY(%(handles)s) AND id = ANY(%(controls)s);

-- name: delete_turns
DELETE FROM turns WHERE handle = ANY(%(handles)s) AND id = ANY(%(logged)s);

-- name: unlink
-- What stays must not point to what is gone.
UPDATE memories SET supersedes = NULL WHERE handle = ANY(%(handles)s) AND supersedes = ANY(%(memories)s);

-- name: raise_generation
UPDATE subjects SET generation = generation + 1 WHERE handle = ANY(%s);

-- name: left
SELECT (SELECT count(*) FROM turns WHERE handle = ANY(%(handles)s) AND id = ANY(%(logged)s)),
       (SELECT count(*) FROM candidates WHERE handle = ANY(%(handles)s) AND id = ANY(%(drafts)s)),
       (SELECT count(*) FROM decisions WHERE handle = ANY(%(handles)s) AND candidate = ANY(%(candidates)s)),
       (SELECT count(*) FROM memories WHERE handle = ANY(%(handles)s) AND id = ANY(%(memories)s)),
       (SELECT count(*) FROM memory_versions WHERE handle = ANY(%(handles)s) AND memory = ANY(%(memories)s)),
       (SELECT count(*) FROM sources WHERE handle = ANY(%(handles)s)
          AND (candidate = ANY(%(candidates)s) OR memory = ANY(%(memories)s))),
       (SELECT count(*) FROM controls WHERE handle = ANY(%(handles)s) AND id = ANY(%(controls)s)),
       (SELECT count(*) FROM endings WHERE handle = ANY(%(handles)s)
          AND (turn = ANY(%(turns)s) OR candidate = ANY(%(candidates)s))),
       (SELECT count(*) FROM traces WHERE handle = ANY(%(handles)s) AND id = ANY(%(traces)s)),
       (SELECT count(*) FROM lineage WHERE handle = ANY(%(handles)s)
          AND (child = ANY(%(all)s) OR parent = ANY(%(all)s)));

-- name: set_items
UPDATE erasures SET items = %(items)s, waits = %(waits)s
WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: items
SELECT items, waits FROM erasures WHERE id = %s;

-- name: groups_of_author
-- Other people's handles under which this person spoke.
SELECT handle FROM turns WHERE author = %(ref)s AND author <> subject
UNION SELECT handle FROM candidates WHERE author = %(ref)s AND author <> subject
UNION SELECT s.handle FROM sources AS s JOIN subjects AS p ON p.handle = s.handle
      WHERE s.author = %(ref)s AND p.ref <> %(ref)s
UNION SELECT handle FROM lineage WHERE parent = %(ref)s AND parent_kind = 'subject' AND child_kind = 'window';

-- name: update_memory
UPDATE memories
SET status = %(status)s, version = %(version)s, supersedes = %(supersedes)s,
    source_type = %(source_type)s, confidence = %(confidence)s, source_count = %(count)s,
    turn_row = %(row)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s,
    expires_at = %(expires_at)s, body = %(body)s, updated_at = now(),
    -- The index filters by it, and is written again where only that has changed.
    indexed_version = CASE WHEN expires_at IS NOT DISTINCT FROM %(expires_at)s THEN indexed_version END
WHERE id = %(id)s;

-- name: insert_version
INSERT INTO memory_versions (memory, version, handle, epoch, status, actor, rule)
VALUES (%s, %s, %s, %s, %s, 'operator', %s);

-- name: drafts
SELECT id, body FROM candidates WHERE id = ANY(%s);

-- name: quotes
SELECT candidate, body FROM sources WHERE memory = %s AND NOT voided ORDER BY row, step, candidate;

-- name: departing
SELECT set_config('obelus.erasure', %s, true);

-- name: artefacts_of
SELECT count(DISTINCT artefact), count(*) FROM derivations WHERE parent = ANY(%s);
