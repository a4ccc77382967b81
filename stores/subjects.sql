-- name: lock_refs
-- The inner ORDER BY is what keeps two batches from waiting for each other in a circle.
SELECT count(CASE WHEN alone THEN pg_advisory_xact_lock(key)::text
                  ELSE pg_advisory_xact_lock_shared(key)::text END)
FROM (
    SELECT key, bool_or(alone) AS alone
    FROM (
        SELECT unnest(%(shared)s::bigint[]) AS key, false AS alone
        UNION ALL
        SELECT unnest(%(exclusive)s::bigint[]), true
    ) AS wanted
    GROUP BY key
    ORDER BY key
) AS ordered;

-- name: lock_handles
SELECT count(pg_advisory_xact_lock_shared(key)::text)
FROM (
    SELECT lock AS key FROM subjects WHERE handle = ANY(%(handles)s)
    UNION
    SELECT unnest(%(locks)s::bigint[])
    ORDER BY key
) AS ordered;

-- name: load_by_ref
SELECT s.ref, s.tenant, s.lock, s.handle, s.epoch, s.consent, s.fence, s.fenced_at, s.generation,
       t.consent, t.fence, t.fenced_at
FROM subjects AS s JOIN tenants AS t ON t.ref = s.tenant
WHERE s.ref = ANY(%s);

-- name: load_by_handle
SELECT s.ref, s.tenant, s.lock, s.handle, s.epoch, s.consent, s.fence, s.fenced_at, s.generation,
       t.consent, t.fence, t.fenced_at
FROM subjects AS s JOIN tenants AS t ON t.ref = s.tenant
WHERE s.handle = ANY(%s);

-- name: fenced_tenants
-- Tenants that were erased as a whole: of them nobody is unknown, as far as their fence goes.
SELECT ref FROM tenants WHERE ref = ANY(%s) AND fenced_at IS NOT NULL;

-- name: insert_unnamed
INSERT INTO subjects (ref, tenant, lock) SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[])
ON CONFLICT DO NOTHING;

-- name: insert_tenants
INSERT INTO tenants (ref)
SELECT unnest(%s::bytea[])
ON CONFLICT DO NOTHING;

-- name: insert_subjects
-- Rows come sorted by ref. Returns the handles that were taken; the others lost a race, against another process
-- or against an erasure: of whom the epoch has moved since it was read, nobody may be named again unasked.
INSERT INTO subjects (ref, tenant, lock, handle, body, epoch)
SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[], %s::bytea[], %s::bytea[], %s::integer[])
ON CONFLICT (ref) DO UPDATE SET handle = excluded.handle, body = excluded.body
WHERE subjects.handle IS NULL AND subjects.epoch = excluded.epoch
RETURNING handle;

-- name: held_handles
SELECT handle FROM subjects WHERE handle = ANY(%s);
