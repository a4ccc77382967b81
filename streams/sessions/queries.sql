-- name: add_log
INSERT INTO logs (topic, topic_id) VALUES (%(topic)s, %(id)s) ON CONFLICT (topic_id) DO NOTHING

-- name: log
SELECT no FROM logs WHERE topic_id = %(id)s

-- name: extractor
-- How far consent is applied: words of it before this position are in the rows.
SELECT part, next FROM positions WHERE consumer = 'extractor' AND log = %(log)s

-- name: not_on
-- Consent of single conversations, where it is not plainly given.
SELECT subject, conversation, consent FROM conversation_consents
WHERE subject = ANY(%(subjects)s::bytea[]) AND conversation = ANY(%(conversations)s::bytea[]) AND consent <> 'on'

-- name: last_turns
-- What the extractor has stored of each conversation, newest ones only.
SELECT c.handle, c.conversation, t.id, t.revision, t.role, t.at, t.body, t.other, t.log, t.part, t.pos
FROM unnest(%(handles)s::bytea[], %(conversations)s::bytea[]) AS c(handle, conversation)
CROSS JOIN LATERAL (
    SELECT id, revision, role, at, body, nullif(author, subject) AS other, log, part, pos FROM turns
    WHERE handle = c.handle AND conversation = c.conversation
    ORDER BY row DESC LIMIT %(most)s
) t
