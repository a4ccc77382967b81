-- name: midnight
SELECT date_trunc('day', now(), 'UTC');

-- name: tenants
-- Who has something that is due. Enough of each kind is looked at for a start; the next look finds the rest.
SELECT DISTINCT s.tenant FROM (
    (SELECT c.handle FROM candidates c
     WHERE c.expires_at < %(candidates)s AND EXISTS (SELECT FROM decisions d WHERE d.candidate = c.id)
     LIMIT %(limit)s)
    UNION ALL
    (SELECT m.handle FROM memories m
     WHERE m.status = 'expired' AND m.expires_at < %(memories)s
     LIMIT %(limit)s)
    UNION ALL
    (SELECT t.handle FROM turns t
     WHERE t.stored_at < %(turns)s AND NOT EXISTS (
         SELECT FROM lineage l JOIN candidates c ON c.id = l.child WHERE l.parent = t.id AND l.parent_kind = 'turn')
     LIMIT %(limit)s)
) AS due JOIN subjects s ON s.handle = due.handle;

-- name: open
-- One erasure a tenant and day. Of what turns up later on a day that had its receipt, a newer one of that day tells.
INSERT INTO erasures (id, tenant, kind, selector, requested_at, deadline, log, part, pos)
SELECT n.id, n.tenant, 'expiry', '', %(cutoff)s, %(deadline)s, 0, 0, 0
FROM unnest(%(ids)s::bytea[], %(tenants)s::bytea[]) AS n(id, tenant)
ON CONFLICT (id) DO UPDATE SET state = 'blocked', next_at = now(), attempts = 0
WHERE erasures.state IN ('verified', 'final', 'cancelled') OR erasures.next_at IS NULL
   -- Who looked again at a day that had its receipt has put it off meanwhile.
   OR (erasures.state = 'blocked' AND erasures.next_at > now())
RETURNING id;

-- name: due_candidates
-- A candidate that is still undecided waits for policy, however old it is (P10).
SELECT c.id, s.lock, c.handle FROM candidates c JOIN subjects s ON s.handle = c.handle
WHERE s.tenant = %(tenant)s AND c.expires_at < %(candidates)s
  AND EXISTS (SELECT FROM decisions d WHERE d.candidate = c.id)
LIMIT %(limit)s;

-- name: due_memories
SELECT m.id, s.lock, m.handle FROM memories m JOIN subjects s ON s.handle = m.handle
WHERE m.tenant = %(tenant)s AND m.status = 'expired' AND m.expires_at < %(memories)s
ORDER BY m.expires_at LIMIT %(limit)s;

-- name: due_turns
-- Its candidates go first; one that is undecided is read with its turn.
SELECT t.id, s.lock, t.handle FROM turns t JOIN subjects s ON s.handle = t.handle
WHERE s.tenant = %(tenant)s AND t.stored_at < %(turns)s AND NOT EXISTS (
    SELECT FROM lineage l JOIN candidates c ON c.id = l.child WHERE l.parent = t.id AND l.parent_kind = 'turn')
LIMIT %(limit)s;

-- name: still_candidates
-- These three: asked again under the lock.
SELECT id, handle, created_at FROM candidates WHERE id = ANY(%(ids)s) AND handle = ANY(%(handles)s);

-- name: still_memories
SELECT m.id, m.handle, (SELECT greatest(m.created_at, max(s.decided_at)) FROM sources s WHERE s.memory = m.id)
FROM memories m
WHERE m.id = ANY(%(ids)s) AND m.handle = ANY(%(handles)s) AND m.status = 'expired' AND m.expires_at < %(memories)s;

-- name: still_turns
SELECT t.id, t.handle, t.stored_at FROM turns t
WHERE t.id = ANY(%(ids)s) AND t.handle = ANY(%(handles)s) AND t.stored_at < %(turns)s AND NOT EXISTS (
    SELECT FROM lineage l JOIN candidates c ON c.id = l.child WHERE l.parent = t.id AND l.parent_kind = 'turn');

-- name: shared_slots
-- Slots that keep a memory when these go.
SELECT DISTINCT m.handle, m.identity FROM memories m
WHERE m.id = ANY(%(ids)s) AND EXISTS (
    SELECT FROM memories o WHERE o.handle = m.handle AND o.identity = m.identity AND NOT o.id = ANY(%(ids)s));

-- name: void
-- Evidence that only what goes has put out of use must not speak again.
WITH quiet AS (UPDATE sources SET voided = true WHERE memory = ANY(%(ids)s) AND NOT voided),
    raised AS (UPDATE subjects SET generation = generation + 1
               WHERE handle IN (SELECT handle FROM memories WHERE id = ANY(%(ids)s)))
UPDATE memories SET source_count = 0 WHERE id = ANY(%(ids)s);

-- name: candidates_of_memories
-- Those that no other memory came from, and where they came from themselves.
SELECT s.candidate, s.turn, (SELECT l.parent FROM lineage l WHERE l.child = s.candidate AND l.parent_kind = 'control')
FROM sources s
WHERE s.handle = ANY(%(handles)s) AND s.memory = ANY(%(ids)s) AND NOT EXISTS (
    SELECT FROM sources o
    WHERE o.handle = s.handle AND o.candidate = s.candidate AND NOT o.memory = ANY(%(ids)s));

-- name: candidates_of_turns
-- Candidates that came to nothing; of a memory the whole way to its turn stays.
SELECT l.child FROM lineage l
WHERE l.handle = ANY(%(handles)s) AND l.parent = ANY(%(ids)s) AND l.parent_kind = 'turn' AND l.child_kind = 'candidate'
  AND NOT EXISTS (SELECT FROM sources s WHERE s.turn = l.parent AND s.candidate = l.child)
  AND NOT EXISTS (SELECT FROM endings e WHERE e.candidate = l.child);

-- name: edited
SELECT id, handle, revision, body, log, part, pos FROM turns WHERE id = ANY(%s) AND revision > 0;

-- name: entomb
-- What comes again finds its outcome final: a message, an order, a candidate.
INSERT INTO refusals (id, handle, outcome, log, part, pos)
SELECT id, handle, 'expired', log, part, pos FROM turns WHERE id = ANY(%(turns)s)
UNION ALL
SELECT id, handle, 'expired', log, part, pos FROM controls WHERE id = ANY(%(controls)s)
UNION ALL
SELECT candidate, handle, 'expired', log, part, pos FROM decisions WHERE candidate = ANY(%(candidates)s)
ON CONFLICT (id) DO NOTHING;

-- name: entomb_edits
INSERT INTO refusals (id, handle, outcome, log, part, pos)
SELECT n.id, n.handle, 'expired', n.log, n.part, n.pos
FROM unnest(%s::bytea[], %s::bytea[], %s::smallint[], %s::integer[], %s::bigint[]) AS n(id, handle, log, part, pos)
ON CONFLICT (id) DO NOTHING;

-- name: note_rows
UPDATE subjects s SET turns_gone = greatest(s.turns_gone, n.row)
FROM (SELECT handle, max(row) AS row FROM turns WHERE id = ANY(%s) GROUP BY handle) AS n
WHERE s.handle = n.handle;

-- name: work
SELECT items FROM erasures WHERE id = %s;

-- name: keep
UPDATE erasures SET items = %(work)s WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: cancel
UPDATE erasures SET state = 'cancelled', next_at = NULL, finished_at = now(), lease_owner = NULL, lease_until = NULL
WHERE id = %(id)s AND lease_owner = %(owner)s;
