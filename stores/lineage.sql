-- name: whose
-- A memory of the tenant; one whose person is blocked is not shown any more.
SELECT m.handle, s.ref FROM memories m JOIN subjects s ON s.handle = m.handle AND s.epoch = m.epoch
WHERE m.id = %(id)s AND m.tenant = %(tenant)s;

-- name: edges
-- All edges above and below a memory. A decision has its candidate's id, so a kind goes with every id.
WITH RECURSIVE up AS (
    SELECT l.child_kind, l.child, l.parent_kind, l.parent FROM lineage l
    WHERE l.child = %(id)s AND l.child_kind = 'memory' AND l.handle = %(handle)s
    UNION
    SELECT l.child_kind, l.child, l.parent_kind, l.parent
    FROM up JOIN lineage l ON l.child = up.parent AND l.child_kind = up.parent_kind AND l.handle = %(handle)s
)
SELECT * FROM up
UNION
SELECT l.child_kind, l.child, l.parent_kind, l.parent FROM lineage l
WHERE l.parent = %(id)s AND l.parent_kind = 'memory' AND l.handle = %(handle)s AND coalesce(l.until > now(), true)
UNION
SELECT l.child_kind, l.child, l.parent_kind, l.parent FROM up JOIN lineage l ON l.parent = up.parent
WHERE up.parent_kind = 'turn' AND l.child_kind = 'window' AND l.handle = %(handle)s AND l.until > now()
UNION
SELECT 'artefact', d.artefact, d.parent_kind, d.parent FROM derivations d
WHERE d.parent = %(id)s
   OR (d.parent_kind = 'turn' AND d.parent IN (SELECT parent FROM up WHERE parent_kind = 'turn'));

-- name: turns
SELECT id, at, author, role, body FROM turns WHERE id = ANY(%s);

-- name: controls
SELECT id, at, subject, action || ' by ' || actor, body FROM controls WHERE id = ANY(%s);

-- name: candidates
SELECT id, created_at, author, type || ' ' || source_type || ' ' || extractor, body FROM candidates WHERE id = ANY(%s);

-- name: decisions
SELECT candidate, at, NULL::bytea, outcome || ' by ' || rule || ', policy ' || policy_version, NULL::bytea
FROM decisions WHERE candidate = ANY(%s);

-- name: memories
SELECT id, created_at, subject, type || ' ' || status || ' v' || version, body FROM memories WHERE id = ANY(%s);

-- name: vectors
SELECT point, NULL::timestamptz, NULL::bytea, state || ' v' || version, NULL::bytea FROM vectors WHERE point = ANY(%s);

-- name: traces
SELECT id, at, NULL::bytea, 'recall, policy ' || policy_version, NULL::bytea FROM traces WHERE id = ANY(%s);

-- name: artefacts
SELECT id, at, NULL::bytea, 'of ' || owner, body FROM artefacts WHERE id = ANY(%s);

-- name: quotes
-- Where a turn is past its retention, its source still says what was said.
SELECT candidate, body FROM sources WHERE memory = %(id)s AND handle = %(handle)s AND turn IS NOT NULL;
