-- name: count_ledger
SELECT count(*) FILTER (WHERE state <> 'intent'), count(*) FROM vectors WHERE handle = %s;

-- name: page_of_points
SELECT point, state = 'intent' AND lease_until > now() FROM vectors
WHERE handle = %s AND point > %s ORDER BY point LIMIT %s;

-- name: delete_ledger
DELETE FROM vectors
WHERE ctid = ANY(ARRAY(SELECT ctid FROM vectors WHERE handle = %s LIMIT %s));

-- name: ledger_and_note
SELECT ledger.count, erasures.segments, extract(epoch FROM now() - erasures.segments_at)
FROM (SELECT count(*) FROM vectors WHERE handle = %s) AS ledger
LEFT JOIN erasures ON erasures.id = %s;

-- name: wants_note
WITH forgotten AS (
    UPDATE erasures SET segments = NULL WHERE id = %(erasure)s AND %(removed)s AND segments IS NOT NULL
)
SELECT 1 FROM erasures
WHERE id = %(erasure)s AND (%(removed)s OR segments IS NULL) AND state IN ('verified', 'final');

-- name: note
UPDATE erasures SET segments = %s, segments_at = clock_timestamp() WHERE id = %s;
