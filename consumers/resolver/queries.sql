-- name: authors
SELECT DISTINCT author FROM candidates WHERE id = ANY(%b::bytea[]) AND author <> subject

-- name: decided
-- A decision with its candidate and where that came from. A control stands after the last turn before it in its log.
-- Last: the message was edited since, and this was drawn from its older text, which is a source no more (W1).
SELECT d.candidate, d.outcome, d.rule, d.at, c.handle, c.epoch, c.subject, c.author, c.author_epoch, c.body,
       coalesce(a.consent, 'on'),
       c.turn, t.row, t.at, t.conversation, t.body,
       c.control, k.actor, NULL, k.body, k.pos,
       greatest((SELECT max(b.row) FROM turns b
                 WHERE b.handle = k.handle AND b.log = k.log AND b.part = k.part AND b.pos < k.pos),
                (SELECT s.turns_gone FROM subjects s WHERE s.handle = k.handle), 0),
       k.outcome IS NOT NULL
           OR EXISTS (SELECT FROM lineage l WHERE l.parent = d.candidate AND l.child_kind = 'memory')
           OR EXISTS (SELECT FROM endings e WHERE e.candidate = d.candidate),
       EXISTS (SELECT FROM refusals r WHERE r.id = d.candidate),
       t.revision > 0 AND (c.log, c.part) = (t.log, t.part) AND c.pos < t.pos
FROM decisions d
JOIN candidates c ON c.id = d.candidate
LEFT JOIN turns t ON t.id = c.turn
LEFT JOIN controls k ON k.id = c.control
LEFT JOIN conversation_consents a ON a.subject = c.subject AND a.conversation = c.conversation
WHERE d.candidate = ANY(%b::bytea[])

-- name: targets
-- What orders name, with the slot that a rollback would return to.
SELECT m.id, m.handle, m.identity, m.type, m.visibility, m.body, p.identity
FROM memories m LEFT JOIN memories p ON p.id = m.supersedes
WHERE m.id = ANY(%b::bytea[]) AND m.status <> 'deleted'

-- name: recent
-- What "that" may be in "forget that": the newest memories of a conversation before it.
SELECT w.handle, r.identity
FROM unnest(%b::bytea[], %b::bytea[], %b::bigint[]) AS w(handle, conversation, row)
CROSS JOIN LATERAL (
    SELECT m.identity FROM sources s JOIN memories m ON m.id = s.memory
    WHERE s.handle = w.handle AND s.conversation = w.conversation AND s.row < w.row AND NOT s.voided
        AND m.status IN ('active', 'conflicted', 'suggested', 'pending')
    ORDER BY s.row DESC LIMIT 8
) AS r

-- name: reverted
SELECT w.handle, m.identity
FROM unnest(%b::bytea[], %b::bytea[], %b::timestamptz[], %b::timestamptz[]) AS w(handle, conversation, since, until)
JOIN sources s ON s.handle = w.handle AND (w.conversation IS NULL OR s.conversation = w.conversation)
    AND (w.since IS NULL OR s.at >= w.since) AND (w.until IS NULL OR s.at < w.until)
JOIN memories m ON m.id = s.memory
UNION
SELECT w.handle, e.identity
FROM unnest(%b::bytea[], %b::bytea[], %b::timestamptz[], %b::timestamptz[]) AS w(handle, conversation, since, until)
JOIN endings e ON e.handle = w.handle AND (w.conversation IS NULL OR e.conversation = w.conversation)
    AND (w.since IS NULL OR e.at >= w.since) AND (w.until IS NULL OR e.at < w.until)

-- name: reverts
-- What was taken back already: claims from there that arrive later are taken back too.
SELECT k.handle, k.id, k.body, k.pos,
       greatest((SELECT max(b.row) FROM turns b
                 WHERE b.handle = k.handle AND b.log = k.log AND b.part = k.part AND b.pos < k.pos),
                (SELECT s.turns_gone FROM subjects s WHERE s.handle = k.handle), 0)
FROM controls k
WHERE k.handle = ANY(%b::bytea[]) AND k.action = 'revert' AND k.outcome IN ('applied', 'no_match')

-- name: update_memories
-- Only what is still as it was read (C9): version and support count rise with every change.
UPDATE memories m SET status = n.status, version = n.version, source_type = n.source_type,
    sensitivity = n.sensitivity, confidence = n.confidence, importance = n.importance, explicit = n.explicit,
    source_count = n.source_count, turn_row = n.turn_row, valid_from = n.valid_from, valid_to = n.valid_to,
    expires_at = n.expires_at, supersedes = n.supersedes, body = n.body, updated_at = now(),
    -- What the index filters by may change without a new version; it is written again then.
    indexed_version = CASE WHEN (m.sensitivity, m.expires_at) IS DISTINCT FROM (n.sensitivity, n.expires_at)
                           THEN NULL ELSE m.indexed_version END
FROM unnest(%b::bytea[], %b::int4[], %b::int4[], %b::text[], %b::int4[], %b::text[], %b::text[],
            %b::float4[], %b::float4[], %b::bool[], %b::int4[], %b::int8[], %b::timestamptz[], %b::timestamptz[],
            %b::timestamptz[], %b::bytea[], %b::bytea[])
    AS n(id, was_version, was_count, status, version, source_type, sensitivity, confidence, importance,
         explicit, source_count, turn_row, valid_from, valid_to, expires_at, supersedes, body)
WHERE m.id = n.id AND m.version = n.was_version AND m.source_count = n.was_count

-- name: copy_memories
-- No ON CONFLICT: a second memory of one slot and value, or a second active one, is a race; the batch is done anew.
COPY memories (id, subject, tenant, handle, epoch, identity, value_digest, version, status, type, polarity,
               source_type, sensitivity, visibility, namespaces, confidence, importance, explicit, source_count,
               turn_row, valid_from, valid_to, expires_at, review_at, supersedes, body) FROM STDIN (FORMAT BINARY)

-- name: copy_versions
COPY memory_versions (memory, version, handle, epoch, status, actor, rule, candidate, log, part, pos)
FROM STDIN (FORMAT BINARY)

-- name: copy_sources
COPY sources (memory, candidate, turn, handle, author, conversation, at, body, row, step, kind, source_type, replaces,
              confidence, valid_from, expires_at, decided_at) FROM STDIN (FORMAT BINARY)

-- name: copy_lineage
COPY lineage (child_kind, child, parent_kind, parent, handle) FROM STDIN (FORMAT BINARY)

-- name: insert_endings
INSERT INTO endings (candidate, identity, handle, turn, conversation, digests, row, step, at)
SELECT decode(n.entry->>'candidate', 'hex'), decode(n.entry->>'identity', 'hex'), decode(n.entry->>'handle', 'hex'),
       decode(n.entry->>'turn', 'hex'), decode(n.entry->>'conversation', 'hex'),
       (SELECT array_agg(decode(d, 'hex')) FROM jsonb_array_elements_text(nullif(n.entry->'digests', 'null')) AS d),
       (n.entry->>'row')::bigint, (n.entry->>'step')::bigint, (n.entry->>'at')::timestamptz
FROM jsonb_array_elements(%b::jsonb) AS n(entry)
ON CONFLICT (candidate, identity) DO NOTHING

-- name: void_sources
UPDATE sources s SET voided = true
FROM unnest(%b::bytea[], %b::bytea[]) AS n(memory, candidate)
WHERE s.memory = n.memory AND s.candidate = n.candidate

-- name: delete_endings
DELETE FROM endings WHERE candidate = ANY(%b::bytea[])

-- name: note_controls
UPDATE controls c SET applied = n.applied, outcome = n.outcome
FROM unnest(%b::bytea[], %b::bool[], %b::text[]) AS n(id, applied, outcome)
WHERE c.id = n.id

-- name: insert_refusals
INSERT INTO refusals (id, handle, outcome, log, part, pos)
SELECT id, handle, 'not_permitted', log, part, pos
FROM unnest(%b::bytea[], %b::bytea[], %b::int2[], %b::int4[], %b::int8[]) AS n(id, handle, log, part, pos)
ON CONFLICT (id) DO NOTHING

-- name: raise_generations
UPDATE subjects SET generation = generation + 1 WHERE handle = ANY(%b::bytea[])

-- name: caused
SELECT memory, version, status, handle, epoch FROM memory_versions
WHERE log = %b AND part = %b AND pos >= %b AND pos < %b
ORDER BY pos, at, memory, version

-- name: due
-- Everything that waits or holds no longer. Two statements see the same rows, so the lock comes in between.
(SELECT id, handle FROM memories
 WHERE expires_at <= now() AND status IN ('active', 'suggested', 'pending', 'conflicted')
 ORDER BY expires_at LIMIT %b)
UNION ALL
(SELECT id, handle FROM memories WHERE expires_at <= now() AND status = 'quarantined' ORDER BY expires_at LIMIT %b)

-- name: expire
WITH gone AS (
    UPDATE memories m SET status = 'expired', version = version + 1, updated_at = now()
    WHERE id = ANY(%b::bytea[]) AND expires_at <= now()
        AND status IN ('active', 'suggested', 'pending', 'conflicted', 'quarantined')
    RETURNING id, version, handle, epoch
), history AS (
    INSERT INTO memory_versions (memory, version, handle, epoch, status, actor, rule)
    SELECT id, version, handle, epoch, 'expired', 'system', 'expired' FROM gone
), raised AS (
    UPDATE subjects SET generation = generation + 1 WHERE handle IN (SELECT handle FROM gone)
)
SELECT id, version, handle, epoch FROM gone ORDER BY id

-- name: unresolved
-- Decisions that left nothing behind, though they should have: their announcement may have been lost.
SELECT d.candidate, d.handle, d.epoch, d.outcome, d.rule
FROM decisions d JOIN candidates c ON c.id = d.candidate LEFT JOIN controls k ON k.id = c.control
WHERE (d.outcome <> 'reject' OR k.id IS NOT NULL) AND k.outcome IS NULL
    AND NOT EXISTS (SELECT FROM lineage l WHERE l.parent = d.candidate AND l.child_kind = 'memory')
    AND NOT EXISTS (SELECT FROM endings e WHERE e.candidate = d.candidate)
    AND NOT EXISTS (SELECT FROM refusals r WHERE r.id = d.candidate)
ORDER BY d.row LIMIT %b

-- name: edited
-- Evidence that was drawn from an older text of a message. An edit gives the turn a new row number.
SELECT s.handle, m.identity, s.memory, s.candidate, t.id
FROM turns t JOIN sources s ON s.turn = t.id JOIN memories m ON m.id = s.memory
WHERE t.revision > 0 AND t.stored_at > %(since)s AND s.row < t.row
UNION ALL
SELECT e.handle, e.identity, NULL, e.candidate, t.id
FROM turns t JOIN endings e ON e.turn = t.id
WHERE t.revision > 0 AND t.stored_at > %(since)s AND e.row < t.row
LIMIT %(limit)s

-- name: before_now
SELECT now() - interval '1 minute'

-- name: delete_sources
DELETE FROM sources s USING unnest(%b::bytea[], %b::bytea[]) AS n(memory, candidate)
WHERE s.memory = n.memory AND s.candidate = n.candidate

-- name: delete_edges
DELETE FROM lineage l USING unnest(%b::bytea[], %b::bytea[]) AS n(memory, candidate)
WHERE l.child = n.memory AND l.parent = n.candidate

-- name: delete_edited_candidates
DELETE FROM candidates c USING turns t
WHERE t.id = ANY(%b::bytea[]) AND c.turn = t.id AND (c.log, c.part) = (t.log, t.part) AND c.pos < t.pos

-- name: delete_memories
WITH gone AS (DELETE FROM memories WHERE id = ANY(%b::bytea[]) RETURNING id),
    sources AS (DELETE FROM sources s USING gone WHERE s.memory = gone.id),
    edges AS (DELETE FROM lineage l USING gone WHERE l.child = gone.id AND l.child_kind = 'memory'),
    history AS (DELETE FROM memory_versions v USING gone WHERE v.memory = gone.id)
UPDATE memories m SET supersedes = NULL FROM gone WHERE m.supersedes = gone.id

-- name: totals
SELECT status, count(*) FROM memories GROUP BY status
