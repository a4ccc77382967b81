-- Erasures, their lines and receipts: proof, no content. Natural ids lie only in the vault, sealed.
-- id: keyed hash of the caller's request id under the tenant's lookup key.

-- tag: HMAC(nonce, tenant, subject, id), so that who drew the nonce can show whose receipt it is.
-- selector: keyed digest of the selector, to refuse another one under the same request id.
CREATE TABLE erasures (
    id bytea PRIMARY KEY,
    tenant bytea NOT NULL,
    subject bytea,
    lock bigint,
    kind text NOT NULL,
    selector bytea NOT NULL,
    tag bytea,
    state text NOT NULL DEFAULT 'planned',
    handle bytea,
    epoch integer,
    fence jsonb,
    plan jsonb,
    plan_digest text,
    expected_digest text,
    hold boolean NOT NULL DEFAULT false,
    requested_at timestamptz NOT NULL,
    deadline timestamptz NOT NULL,
    not_before timestamptz,
    blocked_at timestamptz,
    verified_at timestamptz,
    finished_at timestamptz,
    next_at timestamptz DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    lease_owner text,
    lease_until timestamptz,
    log smallint NOT NULL,
    part integer NOT NULL,
    pos bigint NOT NULL,
    accepted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX erasures_due ON erasures (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX erasures_subject ON erasures (subject);

-- One row an entry of the data map. before is counted after Block, when nothing can be added.
CREATE TABLE erasure_lines (
    erasure bytea NOT NULL REFERENCES erasures ON DELETE CASCADE,
    entry text NOT NULL,
    before bigint NOT NULL DEFAULT 0,
    after bigint,
    status text NOT NULL DEFAULT 'open',
    proven text[] NOT NULL DEFAULT '{}',
    target text[] NOT NULL DEFAULT '{}',
    method text NOT NULL DEFAULT '',
    eraser text NOT NULL,
    version text NOT NULL,
    expires_at timestamptz,
    reason text,
    observed_at timestamptz,
    PRIMARY KEY (erasure, entry)
);

-- Head of a tenant's chain of receipts; locked while a receipt is made.
CREATE TABLE receipt_heads (
    tenant bytea PRIMARY KEY,
    seq bigint NOT NULL DEFAULT 0,
    digest bytea
);

CREATE TABLE receipts (
    digest bytea PRIMARY KEY,
    erasure bytea NOT NULL,
    tenant bytea NOT NULL,
    seq bigint NOT NULL,
    supersedes bytea,
    envelope bytea NOT NULL,
    evidence bytea NOT NULL,
    issued_at timestamptz NOT NULL,
    UNIQUE (tenant, seq)
);
CREATE INDEX receipts_erasure ON receipts (erasure, seq);
