-- name: record_windows
-- Before windows are written: edges to what is in them. What the last writing scrolled out goes here too.
WITH outdated AS (
    DELETE FROM lineage l USING unnest(%(old_windows)s::bytea[], %(old_parents)s::bytea[]) AS n(child, parent)
    WHERE l.child = n.child AND l.parent = n.parent AND l.child_kind = 'window'
)
INSERT INTO lineage (child_kind, child, parent_kind, parent, handle, until)
SELECT 'window', n.child, n.kind, n.parent, n.handle, now() + %(seconds)s * interval '1 second'
FROM unnest(%(windows)s::bytea[], %(kinds)s::text[], %(parents)s::bytea[], %(handles)s::bytea[])
    AS n(child, kind, parent, handle)
-- Those that will do until all are looked at again stay as they are.
WHERE NOT EXISTS (
    SELECT FROM lineage l WHERE l.child = n.child AND l.parent = n.parent
        AND l.until > now() + %(enough)s * interval '1 second')
ORDER BY n.child, n.parent
ON CONFLICT (child, parent) DO UPDATE SET until = excluded.until;

-- name: drop_windows
DELETE FROM lineage WHERE child = ANY(%(windows)s) AND child_kind = 'window' AND handle = ANY(%(handles)s);

-- name: of_author
-- Windows in which someone spoke, and in a row of its own what their erasure has noted when it cut groups' memories.
SELECT l.handle, s.epoch, l.child, NULL::jsonb FROM lineage l JOIN subjects s ON s.handle = l.handle
WHERE l.parent = %(author)s AND l.parent_kind = 'subject' AND l.child_kind = 'window'
UNION ALL
SELECT NULL, NULL, NULL, items -> 'ids' FROM erasures
WHERE id = %(erasure)s AND subject = %(author)s AND items #> '{ids,handles}' IS NOT NULL;

-- name: forget_author
DELETE FROM lineage WHERE parent = %s AND parent_kind = 'subject' AND child_kind = 'window' AND child = ANY(%s);

-- name: lapse
-- Edges of copies that have ended by themselves. A little later than they: clocks differ.
DELETE FROM lineage WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM lineage WHERE until < now() - interval '5 minutes' AND child_kind = %s
    LIMIT 2000 FOR UPDATE SKIP LOCKED));
