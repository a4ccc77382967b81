-- name: conversations_not_on
SELECT subject, conversation, consent FROM conversation_consents
WHERE subject = ANY(%b::bytea[]) AND conversation = ANY(%b::bytea[]) AND consent <> 'on'

-- name: known_turns
SELECT id, revision, digest, log, part, pos FROM turns WHERE id = ANY(%b::bytea[])

-- name: known_refusals
SELECT id FROM refusals WHERE id = ANY(%b::bytea[])

-- name: known_controls
-- One whose row went with the memory that it was about is known all the same.
SELECT w.id FROM unnest(%b::bytea[]) AS w(id)
WHERE EXISTS (SELECT FROM controls c WHERE c.id = w.id) OR EXISTS (SELECT FROM refusals r WHERE r.id = w.id)

-- name: conversation_turns
-- A group's turns by others are left out: their authors are not locked here.
SELECT handle, conversation, id, revision, body, role, at FROM turns
WHERE handle = ANY(%b::bytea[]) AND conversation = ANY(%b::bytea[]) AND author = subject
ORDER BY row

-- name: proposed
SELECT id FROM candidates WHERE turn = ANY(%b::bytea[]) AND handle = ANY(%b::bytea[])

-- name: copy_turns
-- No ON CONFLICT: what is stored was read under the lock, so a double is a race, and the batch is done anew.
COPY turns (id, subject, handle, epoch, author, author_epoch, conversation, revision, role, digest, at, body,
            log, part, pos) FROM STDIN (FORMAT BINARY)

-- name: revise_turns
-- The row number moves too: an edited message is newer than what was said between.
UPDATE turns t SET row = DEFAULT, revision = n.revision, role = n.role, digest = n.digest, at = n.at, body = n.body,
    conversation = n.conversation, author = n.author, author_epoch = n.author_epoch,
    log = n.log, part = n.part, pos = n.pos, stored_at = now()
FROM unnest(%b::bytea[], %b::bytea[], %b::int4[], %b::bytea[], %b::int4[], %b::text[], %b::bytea[],
            %b::timestamptz[], %b::bytea[], %b::int2[], %b::int4[], %b::int8[])
    AS n(id, author, author_epoch, conversation, revision, role, digest, at, body, log, part, pos)
WHERE t.id = n.id

-- name: withdraw_candidates
-- An older text is no source any more. What was already decided hangs on its lineage and is not this statement's.
WITH gone AS (
    DELETE FROM candidates c WHERE c.turn = ANY(%b::bytea[]) AND c.handle = ANY(%b::bytea[])
        AND NOT EXISTS (SELECT FROM decisions d WHERE d.candidate = c.id)
    RETURNING c.id)
DELETE FROM lineage l USING gone WHERE l.child = gone.id

-- name: insert_refusals
INSERT INTO refusals (id, handle, outcome, log, part, pos)
SELECT id, handle, 'not_permitted', log, part, pos
FROM unnest(%b::bytea[], %b::bytea[], %b::int2[], %b::int4[], %b::int8[]) AS n(id, handle, log, part, pos)

-- name: insert_controls
INSERT INTO controls (id, subject, handle, epoch, action, actor, body, applied, outcome, log, part, pos)
SELECT id, subject, handle, epoch, action, actor, body, outcome IS NOT NULL, outcome, log, part, pos
FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[], %b::int4[], %b::text[], %b::text[], %b::bytea[], %b::text[],
            %b::int2[], %b::int4[], %b::int8[])
    AS n(id, subject, handle, epoch, action, actor, body, outcome, log, part, pos)

-- name: set_consents
UPDATE subjects s SET consent = n.consent, generation = s.generation + 1
FROM unnest(%b::bytea[], %b::text[]) AS n(ref, consent) WHERE s.ref = n.ref

-- name: set_conversation_consents
INSERT INTO conversation_consents (subject, conversation, consent)
SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::text[])
ON CONFLICT (subject, conversation) DO UPDATE SET consent = excluded.consent

-- name: raise_generations
UPDATE subjects SET generation = generation + 1 WHERE ref = ANY(%b::bytea[])

-- name: insert_candidates
INSERT INTO candidates (id, subject, handle, epoch, author, author_epoch, turn, control, conversation, type,
                        source_type, extractor, body, expires_at, log, part, pos)
SELECT id, subject, handle, epoch, author, author_epoch, turn, control, conversation, type, source_type, extractor,
       body, now() + make_interval(days => %b::int4), log, part, pos
FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[], %b::int4[], %b::bytea[], %b::int4[], %b::bytea[], %b::bytea[],
            %b::bytea[], %b::text[], %b::text[], %b::text[], %b::bytea[], %b::int2[], %b::int4[], %b::int8[])
    AS n(id, subject, handle, epoch, author, author_epoch, turn, control, conversation, type, source_type, extractor,
         body, log, part, pos)

-- name: insert_lineage
INSERT INTO lineage (child_kind, child, parent_kind, parent, handle)
SELECT 'candidate', child, parent_kind, parent, handle
FROM unnest(%b::bytea[], %b::text[], %b::bytea[], %b::bytea[]) AS n(child, parent_kind, parent, handle)
ON CONFLICT (child, parent) DO NOTHING

-- name: insert_kinds
INSERT INTO security_events (handle, kind, log, part, pos)
SELECT * FROM unnest(%b::bytea[], %b::text[], %b::int2[], %b::int4[], %b::int8[])

-- name: caused
SELECT id, handle, epoch, type, source_type FROM candidates
WHERE log = %b AND part = %b AND pos >= %b AND pos < %b
ORDER BY pos, id
