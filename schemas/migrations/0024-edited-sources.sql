-- An edit takes the older text away, and what was drawn from it alone: owners who have made something from either are
-- told, as after any erasure.

-- asks: an owner has to be told of it, and no erasure has taken that up yet.
ALTER TABLE departed ADD COLUMN asks boolean NOT NULL DEFAULT false;
CREATE INDEX departed_asks ON departed (id) WHERE asks;

-- As before, and where no erasure is the cause, though the person lives on, somebody has to order.
CREATE OR REPLACE FUNCTION note_departed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    cause bytea := decode(coalesce(current_setting('obelus.erasure', true), ''), 'hex');
BEGIN
    IF TG_TABLE_NAME = 'turns' AND cause = '' THEN
        RETURN NULL;
    END IF;
    INSERT INTO departed (id, subject, handle, erasure, asks)
    SELECT g.id, g.subject, g.handle, nullif(cause, ''),
           cause = '' AND EXISTS (SELECT FROM derivations d WHERE d.parent = g.id)
               AND EXISTS (SELECT FROM subjects s WHERE s.handle = g.handle)
    FROM gone g
    ON CONFLICT (id) DO UPDATE SET erasure = coalesce(departed.erasure, excluded.erasure), asks = excluded.asks,
        at = now();
    RETURN NULL;
END
$$;

-- An older text's name, once its message's own names the new one.
CREATE FUNCTION older_text(turn bytea, revision integer) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT substring(sha256(turn || int4send(revision)) FROM 1 FOR 16)
$$;

-- What was made from it leads to it under that name, and it departs.
CREATE FUNCTION note_edited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO departed (id, subject, handle, asks)
    SELECT older_text(o.id, o.revision), o.subject, o.handle, true
    FROM older o JOIN newer n ON n.id = o.id
    WHERE n.revision > o.revision AND EXISTS (SELECT FROM derivations d WHERE d.parent = o.id)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        UPDATE derivations d SET parent = older_text(o.id, o.revision)
        FROM older o JOIN newer n ON n.id = o.id
        WHERE n.revision > o.revision AND d.parent = o.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER turns_edited AFTER UPDATE ON turns
    REFERENCING OLD TABLE AS older NEW TABLE AS newer FOR EACH STATEMENT EXECUTE FUNCTION note_edited();

-- Edits before this was noted.
UPDATE departed p SET asks = true
WHERE p.erasure IS NULL AND EXISTS (SELECT FROM derivations d WHERE d.parent = p.id)
    AND EXISTS (SELECT FROM subjects s WHERE s.handle = p.handle);
