-- name: subject
-- Who is asked about, and whether anything may be read at all.
SELECT s.handle, s.epoch, s.generation, clock_timestamp(), s.consent, t.consent,
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
-- The trace with its edges and those of what is kept, and the sources of what is shown; at least one row, whose first
-- column says whether the trace was stored.
SELECT t.stored, s.memory, s.candidate, s.at, s.body
FROM (SELECT leave_trace(%(lock)s, %(ref)s, %(handle)s, %(epoch)s, %(id)s, %(policy)s, %(index)s, %(degraded)s,
                         %(memories)s, %(body)s, %(entry)s, %(until)s) AS stored) t
LEFT JOIN sources s
    ON s.handle = %(handle)s AND s.memory = ANY(%(memories)s) AND s.turn IS NOT NULL AND NOT s.voided
ORDER BY s.memory, s.row, s.candidate

-- name: leave_again
-- The trace of an answer that was kept.
SELECT leave_trace(%(lock)s, %(ref)s, %(handle)s, %(epoch)s, %(id)s, %(policy)s, %(index)s, %(degraded)s,
                   %(memories)s, %(body)s, NULL, NULL)

-- name: unmoved
SELECT 1 FROM subjects
WHERE ref = %(ref)s AND handle = %(handle)s AND epoch = %(epoch)s AND generation = %(generation)s

-- name: used
-- Coarse on purpose: a row that is recalled all day is written once an hour. Busy rows are left for the next time.
UPDATE memories SET last_used_at = now() WHERE id IN (
    SELECT id FROM memories
    WHERE id = ANY(%(ids)s) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 hour')
    FOR UPDATE SKIP LOCKED
)

-- name: whose
-- The subject that a memory belongs to; a tenant sees its own only.
SELECT subject FROM memories WHERE id = %(id)s AND tenant = %(tenant)s

-- name: order
SELECT applied, outcome FROM controls WHERE id = %(id)s

-- name: erasure_subject
SELECT tenant, subject FROM erasures WHERE id = %(id)s

-- name: export_turns
-- What was said in this person's conversations. What they said in a group lies under the group's key: see authored.
SELECT id, body, role, at, revision, stored_at FROM turns WHERE handle = %(handle)s ORDER BY row

-- name: export_authored
-- What the person said elsewhere: where and when; the text belongs to the group's export.
SELECT id, role, at, stored_at FROM turns WHERE author = %(ref)s AND subject <> %(ref)s ORDER BY row

-- name: export_controls
SELECT id, body, action, actor, applied, outcome, at FROM controls WHERE handle = %(handle)s ORDER BY at, id

-- name: export_candidates
SELECT id, body, type, source_type, extractor, expires_at, created_at FROM candidates
WHERE handle = %(handle)s ORDER BY created_at, id

-- name: export_decisions
SELECT candidate, outcome, rule, reasons, policy_version, at FROM decisions WHERE handle = %(handle)s ORDER BY row

-- name: export_versions
SELECT memory, version, status, actor, rule, at FROM memory_versions
WHERE handle = %(handle)s ORDER BY at, memory, version

-- name: export_sources
SELECT candidate, body, memory, at FROM sources WHERE handle = %(handle)s ORDER BY at, candidate, memory

-- name: export_refusals
SELECT id, outcome, at FROM refusals WHERE handle = %(handle)s ORDER BY at, id

-- name: export_traces
SELECT id, body, policy_version, index_version, degraded, at FROM traces WHERE handle = %(handle)s ORDER BY at, id

-- name: export_security_events
SELECT kind, at FROM security_events WHERE handle = %(handle)s ORDER BY id

-- name: export_endings
SELECT candidate, at FROM endings WHERE handle = %(handle)s ORDER BY at, candidate
