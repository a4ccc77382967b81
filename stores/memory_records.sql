-- name: memories
-- Everything of one life of a subject, oldest first; never of another handle or epoch.
SELECT id, type, polarity, status, version, source_type, sensitivity, visibility, confidence, importance, explicit,
       source_count, valid_from, valid_to, expires_at, review_at, last_used_at, supersedes, owner, indexed_version,
       created_at, updated_at, body
FROM memories
WHERE handle = %(handle)s AND epoch = %(epoch)s AND status = ANY(%(statuses)s)
    AND (status <> 'active' OR expires_at IS NULL OR expires_at > now() OR %(expired)s)
    AND (%(ids)s::bytea[] IS NULL OR id = ANY(%(ids)s::bytea[]))
ORDER BY turn_row, created_at, id

-- name: sources
SELECT memory, candidate, body
FROM sources WHERE handle = %(handle)s AND memory = ANY(%(ids)s) AND turn IS NOT NULL AND NOT voided
ORDER BY row, candidate
