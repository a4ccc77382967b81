-- name: put
INSERT INTO outbox (consumer, topic, key, type, ce_id, body)
SELECT %(consumer)s, * FROM unnest(%(topics)s::text[], %(keys)s::text[], %(types)s::text[], %(ids)s::text[], %(bodies)s::bytea[])

-- name: take
-- Locked until they are deleted, so that another worker of this consumer does not publish them too.
SELECT id, topic, key, type, ce_id, body FROM outbox
WHERE consumer = %(consumer)s ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED

-- name: remove
DELETE FROM outbox WHERE id = ANY(%(ids)s)
