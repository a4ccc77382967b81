-- name: add
INSERT INTO dead_letters (consumer, log, part, pos, reason)
SELECT %(consumer)s, * FROM unnest(%(logs)s::smallint[], %(parts)s::int[], %(offsets)s::bigint[], %(reasons)s::text[])
ON CONFLICT (consumer, log, part, pos) DO UPDATE SET reason = EXCLUDED.reason, state = 'open', at = now()
