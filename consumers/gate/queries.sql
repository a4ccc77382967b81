-- name: authors
SELECT DISTINCT author FROM candidates WHERE id = ANY(%b::bytea[]) AND author <> subject

-- name: decided
SELECT candidate FROM decisions WHERE candidate = ANY(%b::bytea[])

-- name: candidates
SELECT c.id, c.handle, c.epoch, c.subject, c.author, c.author_epoch, c.extractor, coalesce(a.consent, 'on'), c.body
FROM candidates c LEFT JOIN conversation_consents a ON a.subject = c.subject AND a.conversation = c.conversation
WHERE c.id = ANY(%b::bytea[])

-- name: targets
SELECT id, handle, body FROM memories WHERE id = ANY(%b::bytea[])

-- name: insert_decisions
INSERT INTO decisions (candidate, handle, epoch, outcome, rule, reasons, policy_version, policy_hash, extractor,
                       log, part, pos)
SELECT candidate, handle, epoch, outcome, rule, string_to_array(reasons, ' '), %b, %b, extractor, log, part, pos
FROM unnest(%b::bytea[], %b::bytea[], %b::int4[], %b::text[], %b::text[], %b::text[], %b::text[], %b::int2[],
            %b::int4[], %b::int8[])
    AS n(candidate, handle, epoch, outcome, rule, reasons, extractor, log, part, pos)

-- name: insert_lineage
-- A decision has its candidate's id: there is one a candidate.
INSERT INTO lineage (child_kind, child, parent_kind, parent, handle)
SELECT 'decision', id, 'candidate', id, handle FROM unnest(%b::bytea[], %b::bytea[]) AS n(id, handle)
ON CONFLICT (child, parent) DO NOTHING

-- name: insert_kinds
INSERT INTO security_events (handle, kind, log, part, pos)
SELECT * FROM unnest(%b::bytea[], %b::text[], %b::int2[], %b::int4[], %b::int8[])

-- name: caused
SELECT candidate, handle, epoch, outcome, rule FROM decisions
WHERE log = %b AND part = %b AND pos >= %b AND pos < %b
ORDER BY pos
