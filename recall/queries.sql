-- name: subject
-- Who is asked about, and whether anything may be read at all.
SELECT s.handle, s.epoch, s.consent, t.consent,
       (SELECT c.consent FROM conversation_consents c WHERE c.subject = s.ref AND c.conversation = %(conversation)s)
FROM subjects s JOIN tenants t ON t.ref = s.tenant
WHERE s.ref = %(ref)s

-- name: truth
-- The last word on what the index proposed, by the database's clock; a body leaves only where nothing refuses it.
SELECT m.id, m.version, m.type, m.polarity, m.source_type, m.sensitivity, m.confidence, m.importance, m.explicit,
       m.valid_from, m.valid_to, m.expires_at, m.status, m.identity, r.refused,
       CASE WHEN r.refused IS NULL THEN m.body END
FROM subjects s
JOIN LATERAL (
    SELECT * FROM memories WHERE id = ANY(%(ids)s)
    UNION ALL
    SELECT * FROM memories WHERE handle = s.handle AND status = 'conflicted' AND id <> ALL(%(ids)s)
) m ON true
CROSS JOIN LATERAL (SELECT CASE
    WHEN m.handle <> s.handle OR m.epoch <> s.epoch THEN 'other_subject'
    WHEN m.status NOT IN ('active', 'conflicted') THEN 'not_active'
    WHEN m.expires_at <= clock_timestamp() THEN 'expired'
    WHEN m.sensitivity <> ALL(%(clearance)s) THEN 'clearance'
END AS refused) r
WHERE s.ref = %(ref)s AND s.handle = %(handle)s AND s.epoch = %(epoch)s AND s.consent <> 'paused'

-- name: leave
-- The trace, and the sources of what is shown; at least one row, whose first column says whether the trace was stored.
SELECT t.stored, s.memory, s.candidate, s.at, s.body
FROM (SELECT leave_trace(%(lock)s, %(ref)s, %(handle)s, %(epoch)s, %(id)s, %(policy)s, %(index)s, %(degraded)s,
                         %(memories)s, %(body)s) AS stored) t
LEFT JOIN sources s ON s.handle = %(handle)s AND s.memory = ANY(%(memories)s)
ORDER BY s.memory, s.at, s.candidate

-- name: used
-- Coarse on purpose: a row that is recalled all day is written once an hour. Busy rows are left for the next time.
UPDATE memories SET last_used_at = now() WHERE id IN (
    SELECT id FROM memories
    WHERE id = ANY(%(ids)s) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 hour')
    FOR UPDATE SKIP LOCKED
)
