-- What the resolver needs so that a slot's state is a function of its evidence, whatever order that arrives in.

-- A source is one piece of evidence. kind: outcome of its decision, or what a control did to the memory.
-- (row, step): place in the event log; step is 0 for a turn and 1 + offset for a control after that turn.
-- voided: taken back by a revert; it no longer counts.
ALTER TABLE sources
    ADD COLUMN row bigint NOT NULL DEFAULT 0,
    ADD COLUMN step bigint NOT NULL DEFAULT 0,
    ADD COLUMN kind text NOT NULL DEFAULT 'accept',
    ADD COLUMN source_type text NOT NULL DEFAULT 'user_stated',
    ADD COLUMN replaces boolean NOT NULL DEFAULT false,
    ADD COLUMN confidence real NOT NULL DEFAULT 1,
    ADD COLUMN valid_from timestamptz,
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN decided_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN voided boolean NOT NULL DEFAULT false;

-- One memory a value and slot: what would be a duplicate is refused by the database (E1). Also finds slots and handles.
-- A row that is cut down to a skeleton loses its digest (its own id will do), so that the value may be said again.
DROP INDEX memories_handle;
CREATE UNIQUE INDEX memories_claim ON memories (handle, identity, value_digest);
CREATE INDEX memories_quarantine ON memories (expires_at) WHERE status = 'quarantined';

-- A person's "no longer", without content: kept so that what was said earlier and arrives later ends too.
-- digests: keyed hashes of the values that it ends; null ends whatever the slot holds.
CREATE TABLE endings (
    candidate bytea NOT NULL,
    identity bytea NOT NULL,
    handle bytea NOT NULL,
    turn bytea,
    conversation bytea,
    digests bytea[],
    row bigint NOT NULL,
    step bigint NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (candidate, identity)
);
CREATE INDEX endings_slot ON endings (handle, identity);

CREATE INDEX candidates_expiry ON candidates USING brin (expires_at);
