-- name: known_logs
SELECT topic_id, no FROM logs WHERE topic_id = ANY(%(ids)s)

-- name: add_logs
INSERT INTO logs (topic, topic_id)
SELECT * FROM unnest(%(topics)s::text[], %(ids)s::text[])
ON CONFLICT (topic_id) DO NOTHING

-- name: read
SELECT log, part, next FROM positions
WHERE consumer = %(consumer)s AND log = ANY(%(logs)s::smallint[])

-- name: cuts
SELECT log, part, upto FROM log_cuts WHERE log = ANY(%(logs)s::smallint[])

-- name: add
INSERT INTO positions (consumer, log, part, next)
SELECT %(consumer)s, * FROM unnest(%(logs)s::smallint[], %(parts)s::int[], %(nexts)s::bigint[])
ORDER BY 2, 3
ON CONFLICT (consumer, log, part) DO NOTHING

-- name: move
-- All or none. Rows are locked in (log, part) order before any is changed, so that two workers cannot deadlock;
-- a row that another worker moved meanwhile is read again under the lock and drops out.
WITH wanted (log, part, held, next) AS (
    SELECT * FROM unnest(%(logs)s::smallint[], %(parts)s::int[], %(helds)s::bigint[], %(nexts)s::bigint[])
), locked AS MATERIALIZED (
    SELECT p.log, p.part, w.next
    FROM positions p JOIN wanted w ON p.log = w.log AND p.part = w.part AND p.next = w.held
    WHERE p.consumer = %(consumer)s
    ORDER BY p.log, p.part
    FOR UPDATE OF p
)
UPDATE positions p SET next = l.next, moved_at = now()
FROM locked l
WHERE p.consumer = %(consumer)s AND p.log = l.log AND p.part = l.part
    AND (SELECT count(*) FROM locked) = (SELECT count(*) FROM wanted)

-- name: accepted
SELECT 1 FROM accepted_losses WHERE (consumer, log, part, start, stop) = (%s, %s, %s, %s, %s)

-- name: accept
INSERT INTO accepted_losses (consumer, log, part, start, stop) VALUES (%s, %s, %s, %s, %s)
