-- name: of_person
-- Made from what is there of a person, or from what went while its owner has not said that it is done. Names are gone
-- with the owner's word.
SELECT a.id, a.body, a.owner, a.at,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(d.parent_kind, encode(d.parent, 'hex')) ORDER BY d.parent), '[]')
        FROM derivations d WHERE d.artefact = a.id AND d.handle = %(handle)s),
       (SELECT o.action || ', ' || o.state FROM ordered_artefacts m JOIN owner_orders o ON o.no = m.order_no
        JOIN erasures e ON e.id = o.erasure
        WHERE m.artefact = a.id AND e.subject = %(ref)s ORDER BY o.no DESC LIMIT 1)
FROM artefacts a
WHERE a.body IS NOT NULL AND a.id IN (
    SELECT artefact FROM derivations WHERE handle = %(handle)s
    UNION
    SELECT m.artefact FROM ordered_artefacts m JOIN owner_orders o ON o.no = m.order_no
    JOIN erasures e ON e.id = o.erasure WHERE e.subject = %(ref)s)
ORDER BY a.at, a.id;

-- name: newest_order
SELECT no, action, salt, count, digest, state, deadline FROM owner_orders
WHERE erasure = %(erasure)s AND owner = %(owner)s AND (%(no)s::bigint IS NULL OR no = %(no)s)
ORDER BY no DESC LIMIT 1;

-- name: page
SELECT a.id, a.body FROM ordered_artefacts m JOIN artefacts a ON a.id = m.artefact
WHERE m.order_no = %(no)s AND a.id > %(after)s AND a.body IS NOT NULL
ORDER BY a.id LIMIT %(limit)s;
