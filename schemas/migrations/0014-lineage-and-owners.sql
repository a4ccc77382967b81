-- Lineage that cannot be left out, and what outside owners have made from memories and messages.

-- A child without a recorded parent is refused, at the commit: edges may be written before or after their child.
CREATE FUNCTION refuse_orphan() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    own bytea;
    there boolean;
BEGIN
    IF TG_TABLE_NAME = 'decisions' THEN
        own := NEW.candidate;
    ELSIF TG_TABLE_NAME = 'vectors' THEN
        own := NEW.point;
    ELSE
        own := NEW.id;
    END IF;
    IF EXISTS (SELECT FROM lineage WHERE child = own AND child_kind = TG_ARGV[0]) THEN
        RETURN NULL;
    END IF;
    -- What was written and taken away in one transaction needs none.
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE %I = $1)', TG_TABLE_NAME, TG_ARGV[1]) INTO there USING own;
    IF there THEN
        RAISE EXCEPTION 'a % without a parent in the lineage', TG_ARGV[0] USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER candidates_have_parents AFTER INSERT ON candidates
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphan('candidate', 'id');
CREATE CONSTRAINT TRIGGER decisions_have_parents AFTER INSERT ON decisions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphan('decision', 'candidate');
CREATE CONSTRAINT TRIGGER memories_have_parents AFTER INSERT ON memories
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphan('memory', 'id');
CREATE CONSTRAINT TRIGGER vectors_have_parents AFTER INSERT ON vectors
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphan('vector', 'point');

-- What an owner outside has made. id: keyed hash of owner and artefact under the tenant's lookup key.
-- body: sealed {artefact, kind} under the same; null once its owner has said that it is gone.
-- log, part, pos: the newest word on it, so that a replay of an older one asks nobody twice.
CREATE TABLE artefacts (
    id bytea PRIMARY KEY,
    tenant bytea NOT NULL,
    owner text NOT NULL,
    body bytea,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX artefacts_tenant ON artefacts (tenant);

-- Its parents; a row goes when its parent is erased, which orders what becomes of the artefact.
CREATE TABLE derivations (
    artefact bytea NOT NULL REFERENCES artefacts ON DELETE CASCADE,
    parent_kind text NOT NULL CHECK (parent_kind IN ('memory', 'turn')),
    parent bytea NOT NULL,
    handle bytea NOT NULL,
    PRIMARY KEY (artefact, parent)
);
CREATE INDEX derivations_handle ON derivations (handle);
CREATE INDEX derivations_parent ON derivations (parent);

CREATE FUNCTION refuse_underived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM artefacts WHERE id = NEW.id)
        AND NOT EXISTS (SELECT FROM derivations WHERE artefact = NEW.id) THEN
        RAISE EXCEPTION 'an artefact without a parent' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER artefacts_have_parents AFTER INSERT ON artefacts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_underived();

-- Ids of erased parents, so that what is registered late is recognised: keyed hashes, whose key is gone or which
-- say nothing without the person's. erasure: set where the handle lives on.
CREATE TABLE departed (
    id bytea PRIMARY KEY,
    subject bytea NOT NULL,
    handle bytea NOT NULL,
    erasure bytea,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX departed_erasure ON departed (erasure) WHERE erasure IS NOT NULL;

-- obelus.erasure is set, for its transaction, by an erasure that leaves the handle alive.
CREATE FUNCTION note_departed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    cause bytea := decode(coalesce(current_setting('obelus.erasure', true), ''), 'hex');
BEGIN
    IF TG_TABLE_NAME = 'turns' AND cause = '' THEN
        RETURN NULL;
    END IF;
    INSERT INTO departed (id, subject, handle, erasure)
    SELECT id, subject, handle, nullif(cause, '') FROM gone
    ON CONFLICT (id) DO UPDATE SET erasure = coalesce(departed.erasure, excluded.erasure);
    RETURN NULL;
END
$$;
CREATE TRIGGER memories_depart AFTER DELETE ON memories
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note_departed();
CREATE TRIGGER turns_depart AFTER DELETE ON turns
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note_departed();

-- What owners were told and what they answered. digest is over salt and ids; the salt is told to who pages only.
-- evidence: digest of what the owner sent; with the signature it shows what was said.
CREATE TABLE owner_orders (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    erasure bytea NOT NULL,
    owner text NOT NULL,
    action text NOT NULL CHECK (action IN ('erase', 'recompute', 'quarantine')),
    challenge text NOT NULL,
    salt bytea NOT NULL,
    count integer NOT NULL,
    digest text NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'in_progress', 'refused', 'done')),
    deadline timestamptz NOT NULL,
    evidence bytea,
    signature bytea,
    ordered_at timestamptz NOT NULL DEFAULT now(),
    answered_at timestamptz
);
CREATE INDEX owner_orders_erasure ON owner_orders (erasure, owner);

CREATE TABLE ordered_artefacts (
    order_no bigint NOT NULL REFERENCES owner_orders ON DELETE CASCADE,
    artefact bytea NOT NULL REFERENCES artefacts,
    PRIMARY KEY (order_no, artefact)
);
CREATE INDEX ordered_artefacts_artefact ON ordered_artefacts (artefact);
