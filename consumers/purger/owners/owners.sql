-- name: locks
-- Subjects of memories that are there or have departed.
SELECT s.lock FROM subjects s JOIN memories m ON m.subject = s.ref WHERE m.id = ANY(%(ids)s)
UNION
SELECT s.lock FROM subjects s JOIN departed p ON p.subject = s.ref WHERE p.id = ANY(%(ids)s);

-- name: memories
-- Null where nobody holds the handle any more: blocked, and about to be erased.
SELECT m.id, m.tenant, m.handle, s.ref IS NOT NULL
FROM memories m LEFT JOIN subjects s ON s.handle = m.handle AND s.epoch = m.epoch
WHERE m.id = ANY(%s);

-- name: departed
SELECT p.id, s.tenant, p.handle FROM departed p JOIN subjects s ON s.ref = p.subject WHERE p.id = ANY(%s);

-- name: turns
SELECT id FROM turns WHERE id = ANY(%(ids)s) UNION SELECT turn FROM sources WHERE turn = ANY(%(ids)s);

-- name: newest_erasure
-- The latest erasure that took something of a subject.
SELECT id FROM erasures
WHERE (subject = %(subject)s OR (kind = 'tenant' AND tenant = %(tenant)s)) AND blocked_at IS NOT NULL
ORDER BY blocked_at DESC LIMIT 1;

-- name: known_artefacts
SELECT id, log, part, pos FROM artefacts WHERE id = ANY(%s);

-- name: insert_departed
INSERT INTO departed (id, subject, handle, erasure)
SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[]) ON CONFLICT DO NOTHING;

-- name: upsert_artefacts
INSERT INTO artefacts (id, tenant, owner, body, log, part, pos)
SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::text[], %s::bytea[], %s::smallint[], %s::integer[], %s::bigint[])
ON CONFLICT (id) DO UPDATE SET body = excluded.body, log = excluded.log, part = excluded.part,
    pos = CASE WHEN (artefacts.log, artefacts.part) = (excluded.log, excluded.part)
               THEN greatest(artefacts.pos, excluded.pos) ELSE excluded.pos END;

-- name: insert_edges
INSERT INTO derivations (artefact, parent_kind, parent, handle)
SELECT * FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::bytea[]) ON CONFLICT DO NOTHING;

-- name: wake
-- Erasures with something to order: what descends from what they took is there, registered late or found by a sweep.
UPDATE erasures e SET next_at = now()
WHERE e.blocked_at IS NOT NULL AND (e.next_at IS NULL OR e.next_at > now()) AND (
    EXISTS (SELECT FROM departed p JOIN derivations d ON d.parent = p.id WHERE p.erasure = e.id)
    OR (e.kind = 'subject' AND EXISTS (SELECT FROM derivations d WHERE d.handle = e.handle))
    OR (e.kind = 'tenant' AND EXISTS (
        SELECT FROM artefacts a JOIN derivations d ON d.artefact = a.id
        WHERE a.tenant = e.tenant AND NOT EXISTS (SELECT FROM subjects s WHERE s.handle = d.handle))));

-- name: wake_named
UPDATE erasures SET next_at = now() WHERE id = ANY(%s) AND blocked_at IS NOT NULL;

-- name: ask
-- A source that went by an edit, of whose erasure nothing is known yet.
UPDATE departed p SET asks = true, at = now()
WHERE p.id = ANY(%s) AND p.erasure IS NULL AND NOT p.asks AND EXISTS (SELECT FROM subjects s WHERE s.handle = p.handle);

-- name: asking
SELECT p.id, p.handle, s.body, p.at FROM departed p LEFT JOIN subjects s ON s.handle = p.handle
WHERE p.asks ORDER BY p.at LIMIT %s FOR UPDATE OF p SKIP LOCKED;

-- name: asks_no_more
UPDATE departed SET asks = false WHERE id = ANY(%s);

-- name: open_for_source
WITH opened AS (
    INSERT INTO erasures (id, tenant, subject, lock, kind, selector, requested_at, deadline, log, part, pos)
    VALUES (%(id)s, %(tenant)s, %(subject)s, %(lock)s, %(kind)s, %(selector)s, %(at)s, %(deadline)s, 0, 0, 0)
    ON CONFLICT DO NOTHING
)
UPDATE departed SET erasure = %(id)s, asks = false WHERE id = %(source)s;

-- name: lock_artefacts
SELECT id, owner, body FROM artefacts WHERE id = ANY(%s) ORDER BY id FOR UPDATE;

-- name: delete_edges
DELETE FROM derivations d USING unnest(%s::bytea[], %s::bytea[]) AS n(artefact, parent)
WHERE d.artefact = n.artefact AND d.parent = n.parent RETURNING d.artefact;

-- name: with_parents
SELECT DISTINCT artefact FROM derivations WHERE artefact = ANY(%s);

-- name: terms
SELECT hold, deadline FROM erasures WHERE id = %s;

-- name: insert_order
INSERT INTO owner_orders (erasure, owner, action, challenge, salt, count, digest, deadline)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING no;

-- name: insert_members
INSERT INTO ordered_artefacts (order_no, artefact) SELECT %s, unnest(%s::bytea[]);

-- name: edges_and_states
-- Edges to parents that an erasure takes: of its handle, of what it cut from handles that live on, and, where a
-- whole tenant goes, of every handle that nobody holds (of all before the block, to show what is there); and every
-- order of the erasure.
SELECT artefact, parent, NULL, NULL, NULL, NULL FROM (
    SELECT d.artefact, d.parent FROM derivations d WHERE %(whole)s AND d.handle = %(handle)s
    UNION
    SELECT d.artefact, d.parent FROM derivations d JOIN departed p ON p.id = d.parent WHERE p.erasure = %(erasure)s
    UNION
    SELECT d.artefact, d.parent FROM derivations d JOIN artefacts a ON a.id = d.artefact
    WHERE %(everybody)s AND a.tenant = %(tenant)s
        AND NOT (%(blocked)s AND EXISTS (SELECT FROM subjects s WHERE s.handle = d.handle))
) AS edges
UNION ALL
SELECT NULL, NULL, state, action, deadline <= now(), count FROM owner_orders WHERE erasure = %(erasure)s;

-- name: orders
-- A challenge names one order; without the right one the newest of that erasure and owner is what was meant.
SELECT no, erasure, owner, challenge, action, count, state FROM owner_orders
WHERE (erasure, owner) IN (SELECT * FROM unnest(%s::bytea[], %s::text[])) ORDER BY no FOR UPDATE;

-- name: answer
UPDATE owner_orders o SET state = n.state, evidence = n.evidence, signature = n.signature, answered_at = now()
FROM unnest(%s::bigint[], %s::text[], %s::bytea[], %s::bytea[]) AS n(no, state, evidence, signature)
WHERE o.no = n.no AND o.state <> 'done';

-- name: close
-- What is in quarantine stays listed: it is still there.
DELETE FROM ordered_artefacts m USING owner_orders o
WHERE o.no = m.order_no AND o.no = ANY(%s) AND o.action <> 'quarantine' RETURNING m.artefact, o.action;

-- name: forget_artefacts
-- What its owner erased is known by its keyed hash alone, unless it was registered anew or is ordered still.
UPDATE artefacts a SET body = NULL
WHERE a.id = ANY(%s) AND NOT EXISTS (SELECT FROM derivations d WHERE d.artefact = a.id)
    AND NOT EXISTS (SELECT FROM ordered_artefacts m WHERE m.artefact = a.id);
