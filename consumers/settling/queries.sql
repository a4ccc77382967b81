-- name: memories
SELECT m.id, m.handle, m.identity, m.value_digest, m.type, m.polarity, m.source_type, m.sensitivity, m.visibility,
       m.confidence, m.importance, m.explicit, m.valid_from, m.valid_to, m.expires_at, m.review_at, m.status,
       m.version, m.source_count, m.turn_row, m.supersedes, m.namespaces, m.body
FROM memories m JOIN unnest(%b::bytea[], %b::bytea[]) AS w(handle, identity)
    ON m.handle = w.handle AND m.identity = w.identity
WHERE m.status <> 'deleted'
ORDER BY m.id

-- name: evidence
SELECT memory, row, step, replaces, candidate, kind, source_type, confidence, conversation, at,
       coalesce(valid_from, at), decided_at, expires_at
FROM sources WHERE memory = ANY(%b::bytea[]) AND NOT voided

-- name: endings
SELECT e.handle, e.identity, e.row, e.step, e.candidate, e.digests, e.at, e.conversation
FROM endings e JOIN unnest(%b::bytea[], %b::bytea[]) AS w(handle, identity)
    ON e.handle = w.handle AND e.identity = w.identity

-- name: clock
SELECT clock_timestamp()
