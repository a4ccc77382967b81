-- name: bodies
-- What is to be embedded: active, its subject alive, not in the index in this version. Read before the lock.
SELECT m.id, m.handle, m.version, m.body
FROM memories AS m JOIN subjects AS s ON s.handle = m.handle AND s.epoch = m.epoch
WHERE m.id = ANY(%s) AND m.status = 'active'
    AND (m.indexed_version IS DISTINCT FROM m.version
         OR NOT EXISTS (SELECT FROM vectors AS v
                        WHERE v.memory = m.id AND v.version = m.version AND v.state = 'written'));

-- name: handles
SELECT DISTINCT handle FROM memories WHERE id = ANY(%(ids)s)
UNION
SELECT DISTINCT handle FROM vectors WHERE memory = ANY(%(ids)s);

-- name: memories
SELECT id, handle, epoch, version, status = 'active', tenant, namespaces, type, sensitivity, visibility, expires_at,
       indexed_version, updated_at
FROM memories WHERE id = ANY(%s);

-- name: ledger
SELECT point, memory, version, handle, epoch, state FROM vectors WHERE memory = ANY(%s);

-- name: open_intents
INSERT INTO vectors (point, memory, version, handle, epoch, state, lease_until)
SELECT point, memory, version, handle, epoch, 'intent', now() + %(lease)s * interval '1 second'
FROM unnest(%(points)s::bytea[], %(memories)s::bytea[], %(versions)s::integer[], %(handles)s::bytea[],
            %(epochs)s::integer[]) AS wanted (point, memory, version, handle, epoch)
ORDER BY point
ON CONFLICT (point) DO UPDATE SET state = 'intent', lease_until = excluded.lease_until;

-- name: add_lineage
INSERT INTO lineage (child_kind, child, parent_kind, parent, handle)
SELECT 'vector', point, 'memory', memory, handle
FROM unnest(%(points)s::bytea[], %(memories)s::bytea[], %(handles)s::bytea[]) AS made (point, memory, handle)
ON CONFLICT DO NOTHING;

-- name: mark_removals
UPDATE vectors SET state = 'removing', lease_until = now() + %(lease)s * interval '1 second'
WHERE point = ANY(%(points)s);

-- name: renew
-- Intents that may still be written: theirs is the current version of a memory of a living subject.
UPDATE vectors AS v SET lease_until = now() + %(lease)s * interval '1 second'
FROM memories AS m JOIN subjects AS s ON s.handle = m.handle AND s.epoch = m.epoch
WHERE v.point = ANY(%(points)s) AND v.state = 'intent'
    AND m.id = v.memory AND m.version = v.version AND m.handle = v.handle AND m.epoch = v.epoch
    AND m.status = 'active'
RETURNING v.point;

-- name: close
-- As renew: what does not come back has moved while it was written, or was taken away, and must be undone.
-- Another worker may have closed the same point; it wrote the same.
UPDATE vectors AS v SET state = 'written', lease_until = now()
FROM memories AS m JOIN subjects AS s ON s.handle = m.handle AND s.epoch = m.epoch
WHERE v.point = ANY(%(points)s) AND v.state IN ('intent', 'written')
    AND m.id = v.memory AND m.version = v.version AND m.handle = v.handle AND m.epoch = v.epoch
    AND m.status = 'active'
RETURNING v.point;

-- name: note_indexed
-- A row that changed without a new version since the point was made from it waits for the tick.
UPDATE memories AS m SET indexed_version = m.version
FROM (
    SELECT m.id, v.version, w.made_from
    FROM unnest(%(points)s::bytea[], %(made_from)s::timestamptz[]) AS w (point, made_from)
    JOIN vectors AS v ON v.point = w.point
    JOIN memories AS m ON m.id = v.memory
    ORDER BY m.id FOR UPDATE OF m
) AS written
WHERE m.id = written.id AND m.version = written.version AND m.updated_at = written.made_from;

-- name: raise_generation
-- What was found by the index of before must not be served from a cache.
UPDATE subjects SET generation = generation + 1
WHERE ref IN (SELECT ref FROM subjects WHERE handle = ANY(%(handles)s) ORDER BY ref FOR UPDATE);

-- name: forget
WITH gone AS (
    DELETE FROM vectors WHERE point = ANY(%(points)s) AND state = 'removing' RETURNING point
)
DELETE FROM lineage USING gone WHERE child = gone.point AND child_kind = 'vector';

-- name: lapsed
-- Leases are taken over, so that of several workers one follows each up.
UPDATE vectors SET lease_until = now() + %(lease)s * interval '1 second'
WHERE point IN (
    SELECT v.point FROM vectors AS v JOIN subjects AS s ON s.handle = v.handle AND s.epoch = v.epoch
    WHERE v.state <> 'written' AND v.lease_until < now()
    ORDER BY v.lease_until LIMIT %(limit)s FOR UPDATE OF v SKIP LOCKED
)
RETURNING memory;

-- name: unindexed
SELECT m.id
FROM memories AS m JOIN subjects AS s ON s.handle = m.handle AND s.epoch = m.epoch
WHERE m.status = 'active' AND m.indexed_version IS DISTINCT FROM m.version
    AND m.updated_at < now() - %(grace)s * interval '1 second'
ORDER BY m.updated_at LIMIT %(limit)s;

-- name: judge
-- Which points have a right to be in the index: those of the current version, and those under a lease.
-- Here and below a subquery a row, so that the plan is by keys even where statistics are missing or old.
SELECT v.point, v.memory, v.version, v.handle, v.epoch
FROM vectors AS v
WHERE v.point = ANY(%s)
    AND (v.state <> 'written' AND v.lease_until > now() OR (
        SELECT m.status = 'active' AND m.version = v.version AND m.handle = v.handle AND m.epoch = v.epoch
            AND (SELECT s.epoch = m.epoch FROM subjects AS s WHERE s.handle = m.handle)
        FROM memories AS m WHERE m.id = v.memory
    ));

-- name: claimed
-- A page of memories; which of them are said to be in the index, and their point: null where the ledger knows none.
SELECT m.id,
       m.status = 'active' AND m.indexed_version = m.version
           AND (SELECT s.epoch = m.epoch FROM subjects AS s WHERE s.handle = m.handle) AS said,
       (SELECT v.point FROM vectors AS v WHERE v.memory = m.id AND v.version = m.version AND v.state = 'written')
FROM memories AS m
WHERE m.id > %(after)s
ORDER BY m.id LIMIT %(limit)s;

-- name: disclaim
UPDATE memories SET indexed_version = NULL WHERE id = ANY(%s) AND status = 'active';

-- name: stale
-- A page of the ledger; which rows of living subjects lead to no current version, with nobody at work on them.
SELECT v.point,
       (v.state = 'written' OR v.lease_until <= now())
           AND (SELECT s.epoch = v.epoch FROM subjects AS s WHERE s.handle = v.handle)
           AND (SELECT m.status = 'active' AND m.version = v.version FROM memories AS m WHERE m.id = v.memory)
               IS NOT TRUE AS stale,
       v.memory
FROM vectors AS v
WHERE v.point > %(after)s
ORDER BY v.point LIMIT %(limit)s;
