-- name: count_ledger
SELECT count(*) FILTER (WHERE state <> 'intent'), count(*) FROM vectors WHERE handle = %s;

-- name: open_intents
SELECT count(*) FROM vectors WHERE handle = %s AND state = 'intent' AND lease_until > now();

-- name: page_of_points
SELECT point FROM vectors WHERE handle = %s AND point > %s ORDER BY point LIMIT %s;

-- name: delete_ledger
DELETE FROM vectors
WHERE ctid = ANY(ARRAY(SELECT ctid FROM vectors WHERE handle = %s LIMIT %s));
