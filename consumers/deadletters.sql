-- name: add
INSERT INTO dead_letters (consumer, log, part, pos, reason)
SELECT %(consumer)s, * FROM unnest(%(logs)s::smallint[], %(parts)s::int[], %(offsets)s::bigint[], %(reasons)s::text[])
ON CONFLICT (consumer, log, part, pos)
DO UPDATE SET reason = EXCLUDED.reason, state = 'open', redrive_at = NULL, at = now()

-- name: listed
SELECT d.id, d.consumer, l.topic, d.log, d.part, d.pos, d.reason, d.state, d.at
FROM dead_letters d JOIN logs l ON l.no = d.log
WHERE (%(id)s::bigint IS NULL AND d.state = 'open') OR d.id = %(id)s
ORDER BY d.id

-- name: ask
UPDATE dead_letters SET redrive_at = now() WHERE id = ANY(%(ids)s) AND state = 'open'

-- name: answers
SELECT id, state, reason, redrive_at IS NOT NULL FROM dead_letters WHERE id = ANY(%(ids)s) ORDER BY id

-- name: discard
UPDATE dead_letters SET state = 'discarded', redrive_at = NULL WHERE id = ANY(%(ids)s) AND state = 'open'

-- name: asked
SELECT d.id, l.topic, l.topic_id, d.log, d.part, d.pos
FROM dead_letters d JOIN logs l ON l.no = d.log
WHERE d.consumer = %(consumer)s AND d.redrive_at IS NOT NULL AND d.state = 'open'
ORDER BY d.id LIMIT 100

-- name: take
-- The row stands in for the position: whoever holds it, with the request still open, may try.
SELECT id FROM dead_letters
WHERE id = %(id)s AND redrive_at IS NOT NULL AND state = 'open' FOR UPDATE SKIP LOCKED

-- name: answer
UPDATE dead_letters SET state = %(state)s, reason = coalesce(%(reason)s, reason), redrive_at = NULL
WHERE id = %(id)s
