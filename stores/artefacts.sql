-- name: newest_order
SELECT no, action, salt, count, digest, state, deadline FROM owner_orders
WHERE erasure = %(erasure)s AND owner = %(owner)s AND (%(no)s::bigint IS NULL OR no = %(no)s)
ORDER BY no DESC LIMIT 1;

-- name: page
SELECT a.id, a.body FROM ordered_artefacts m JOIN artefacts a ON a.id = m.artefact
WHERE m.order_no = %(no)s AND a.id > %(after)s AND a.body IS NOT NULL
ORDER BY a.id LIMIT %(limit)s;
