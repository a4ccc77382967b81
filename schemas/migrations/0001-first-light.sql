-- The truth: event log, candidates, decisions, memories with their versions and sources, lineage, vectors' ledger.
-- Ids are 16 byte keyed hashes under a sub-key of the handle, so that they die with it. "body" is always sealed.
-- log, part, pos: position of the cause in the log; what must be published is a query over them.

CREATE TABLE logs (
    no smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    topic_id text NOT NULL UNIQUE
);

CREATE TABLE positions (
    consumer text NOT NULL,
    log smallint NOT NULL REFERENCES logs,
    part integer NOT NULL,
    next bigint NOT NULL,
    moved_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, log, part)
);

CREATE TABLE tenants (
    ref bytea PRIMARY KEY,
    consent text NOT NULL DEFAULT 'on',
    created_at timestamptz NOT NULL DEFAULT now()
);

-- ref: keyed hash of tenant and natural id under the tenant's lookup key. lock: its first 8 bytes, the advisory key.
-- fence: {"<log no>/<part>": offset before which nothing of this subject exists}.
CREATE TABLE subjects (
    ref bytea PRIMARY KEY,
    tenant bytea NOT NULL REFERENCES tenants,
    lock bigint NOT NULL,
    handle bytea UNIQUE,
    epoch integer NOT NULL DEFAULT 1,
    consent text NOT NULL DEFAULT 'on',
    fence jsonb NOT NULL DEFAULT '{}',
    fenced_at timestamptz,
    generation bigint NOT NULL DEFAULT 0,
    body bytea,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Consent of one conversation; conversation is a keyed hash under the tenant's lookup key, since it survives an epoch.
CREATE TABLE conversation_consents (
    subject bytea NOT NULL REFERENCES subjects ON DELETE CASCADE,
    conversation bytea NOT NULL,
    consent text NOT NULL,
    PRIMARY KEY (subject, conversation)
);

CREATE TABLE turns (
    row bigint GENERATED ALWAYS AS IDENTITY,
    id bytea PRIMARY KEY,
    subject bytea NOT NULL,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    author bytea NOT NULL,
    author_epoch integer NOT NULL,
    conversation bytea NOT NULL,
    revision integer NOT NULL,
    role text NOT NULL,
    digest bytea NOT NULL,
    at timestamptz NOT NULL,
    body bytea NOT NULL,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX turns_handle ON turns (handle, row);
CREATE INDEX turns_author ON turns (author) WHERE author <> subject;

-- Turns that were met and not kept: only the keyed hash of the message id and the final outcome (P7).
CREATE TABLE refusals (
    id bytea PRIMARY KEY,
    handle bytea NOT NULL,
    outcome text NOT NULL,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX refusals_handle ON refusals (handle);

-- Controls, idempotent by request id (id is its keyed hash).
CREATE TABLE controls (
    id bytea PRIMARY KEY,
    subject bytea NOT NULL,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    action text NOT NULL,
    actor text NOT NULL,
    body bytea NOT NULL,
    applied boolean NOT NULL DEFAULT false,
    outcome text,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX controls_handle ON controls (handle);

-- body: the sealed draft. turn or control is its one parent.
CREATE TABLE candidates (
    id bytea PRIMARY KEY,
    subject bytea NOT NULL,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    author bytea NOT NULL,
    author_epoch integer NOT NULL,
    turn bytea,
    control bytea,
    type text NOT NULL,
    source_type text NOT NULL,
    extractor text NOT NULL,
    body bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(turn, control) = 1)
);
CREATE INDEX candidates_handle ON candidates (handle);
CREATE INDEX candidates_cause ON candidates USING brin (log, part, pos);
CREATE INDEX candidates_author ON candidates (author) WHERE author <> subject;

CREATE TABLE decisions (
    row bigint GENERATED ALWAYS AS IDENTITY,
    candidate bytea PRIMARY KEY,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    outcome text NOT NULL,
    rule text NOT NULL,
    reasons text[] NOT NULL,
    policy_version text NOT NULL,
    policy_hash text NOT NULL,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX decisions_handle ON decisions (handle, row);
CREATE INDEX decisions_cause ON decisions USING brin (log, part, pos);

-- One row a claim; identity is the keyed hash of its slot (C1). version rises with every change of the row;
-- a superseder starts one above what it supersedes. row: order of arrival, from the event log ("newer").
CREATE TABLE memories (
    id bytea PRIMARY KEY,
    subject bytea NOT NULL,
    tenant bytea NOT NULL,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    identity bytea NOT NULL,
    value_digest bytea NOT NULL,
    version integer NOT NULL,
    status text NOT NULL,
    type text NOT NULL,
    polarity text NOT NULL,
    source_type text NOT NULL,
    sensitivity text NOT NULL,
    visibility text NOT NULL,
    namespaces bytea[] NOT NULL,
    confidence real NOT NULL,
    importance real NOT NULL,
    explicit boolean NOT NULL,
    source_count integer NOT NULL DEFAULT 1,
    turn_row bigint NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    expires_at timestamptz,
    review_at timestamptz,
    last_used_at timestamptz,
    supersedes bytea,
    owner text,
    indexed_version integer,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX memories_slot ON memories (handle, identity) WHERE status = 'active';
CREATE INDEX memories_handle ON memories (handle, identity);
CREATE INDEX memories_expiry ON memories (expires_at)
    WHERE expires_at IS NOT NULL AND status IN ('active', 'suggested', 'pending', 'conflicted');
CREATE INDEX memories_supersedes ON memories (supersedes) WHERE supersedes IS NOT NULL;

-- History (C10) and, by its cause, what goes to memory.changes. cause_* are null where a tick caused it.
CREATE TABLE memory_versions (
    memory bytea NOT NULL,
    version integer NOT NULL,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    status text NOT NULL,
    actor text NOT NULL,
    rule text NOT NULL,
    candidate bytea,
    body bytea,
    log smallint,
    part integer,
    pos bigint,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (memory, version)
);
CREATE INDEX memory_versions_handle ON memory_versions (handle);
CREATE INDEX memory_versions_cause ON memory_versions USING brin (log, part, pos);

-- Where a memory comes from; lives as long as the memory, longer than the turn (W1).
-- body: sealed {conversation, message_id, quote}.
CREATE TABLE sources (
    memory bytea NOT NULL,
    candidate bytea NOT NULL,
    turn bytea,
    handle bytea NOT NULL,
    author bytea NOT NULL,
    conversation bytea,
    at timestamptz NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (memory, candidate)
);
CREATE INDEX sources_handle ON sources (handle);
CREATE INDEX sources_turn ON sources (turn);

CREATE TABLE lineage (
    child_kind text NOT NULL,
    child bytea NOT NULL,
    parent_kind text NOT NULL,
    parent bytea NOT NULL,
    handle bytea NOT NULL,
    PRIMARY KEY (child, parent)
);
CREATE INDEX lineage_parent ON lineage (parent);
CREATE INDEX lineage_handle ON lineage (handle);

-- Ledger of the index: a row is committed as an intent before the point is written.
CREATE TABLE vectors (
    point bytea PRIMARY KEY,
    memory bytea NOT NULL,
    version integer NOT NULL,
    handle bytea NOT NULL,
    epoch integer NOT NULL,
    state text NOT NULL CHECK (state IN ('intent', 'written', 'removing')),
    lease_until timestamptz NOT NULL
);
CREATE INDEX vectors_memory ON vectors (memory);
CREATE INDEX vectors_handle ON vectors (handle);
CREATE INDEX vectors_open ON vectors (lease_until) WHERE state <> 'written';

CREATE TABLE dead_letters (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer text NOT NULL,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    reason text NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'redriven', 'gone')),
    at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (consumer, log, part, pos)
);

-- What a tick decided to tell the log; content free. Removed after the Kafka commit.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer text NOT NULL,
    topic text NOT NULL,
    key text NOT NULL,
    type text NOT NULL,
    ce_id text NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX outbox_consumer ON outbox (consumer, id);

-- Security events: that something was found by screening, its kind, never what it was (P4).
CREATE TABLE security_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    handle bytea NOT NULL,
    kind text NOT NULL,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX security_events_handle ON security_events (handle);
