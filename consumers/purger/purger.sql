-- name: not_at_once
-- Where a crash of the database loses a batch it loses the batch's position too, and the batch is read again; the
-- first block of one of its requests waits for the disk, and what was committed before goes there with it.
SET LOCAL synchronous_commit = off;

-- name: known
SELECT id, selector, state FROM erasures WHERE id = ANY(%s);

-- name: insert_tenants
INSERT INTO tenants (ref) SELECT DISTINCT unnest(%s::bytea[]) ON CONFLICT DO NOTHING;

-- name: insert_subjects
-- A subject nobody has heard of gets a row without handle or key: it can be fenced all the same.
INSERT INTO subjects (ref, tenant, lock)
SELECT DISTINCT * FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[])
ON CONFLICT DO NOTHING;

-- name: insert_erasures
-- Held by the session that is about to block them; a little longer than that may wait for a lock.
INSERT INTO erasures (lease_owner, lease_until, id, tenant, subject, lock, kind, selector, tag, requested_at,
                      deadline, not_before, expected_digest, log, part, pos)
SELECT %s, now() + interval '15 s', *
FROM unnest(%s::bytea[], %s::bytea[], %s::bytea[], %s::bigint[], %s::text[], %s::bytea[],
            %s::bytea[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[],
            %s::text[], %s::smallint[], %s::integer[], %s::bigint[])
ON CONFLICT DO NOTHING;

-- name: cancel
UPDATE erasures SET state = 'cancelled', next_at = NULL, finished_at = now()
WHERE id = ANY(%s) AND state = 'planned';

-- name: session
-- What a session does may be lost in a crash and is done again; what may not (`book.durable`) waits for the disk, and
-- everything before it with it. It signs what it holds with a name that no other session ever has.
SELECT set_config('obelus.session', pid || '/' || backend_start, false), set_config('synchronous_commit', 'off', false)
FROM pg_stat_get_activity(pg_backend_pid());

-- name: lease
-- Taken where free, lapsed, ours, or its holder's session is gone (a killed process leaves at once).
UPDATE erasures AS e
SET lease_owner = me.name, lease_until = now() + make_interval(secs => %(seconds)s)
FROM (SELECT current_setting('obelus.session') AS name) AS me
WHERE e.id = %(id)s
  AND (e.lease_owner IS NULL OR e.lease_owner = me.name OR e.lease_until < now()
       OR NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a
                      WHERE a.pid || '/' || a.backend_start = e.lease_owner))
RETURNING me.name, e.id, e.tenant, e.subject, e.lock, e.kind, e.tag, e.state, e.handle, e.epoch,
          e.fence, e.plan, e.plan_digest, e.requested_at, e.deadline, e.not_before, e.blocked_at,
          e.attempts, e.expected_digest,
          (SELECT jsonb_object_agg(entry, before) FROM erasure_lines WHERE erasure = e.id), e.items -> 'counts';

-- name: release
UPDATE erasures SET lease_owner = NULL, lease_until = NULL, attempts = %(attempts)s,
       next_at = now() + make_interval(secs => %(seconds)s)
WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: hand_over
UPDATE erasures SET lease_owner = %(heir)s, lease_until = now() + make_interval(secs => %(seconds)s), attempts = 0,
       next_at = now()
WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: put_off
UPDATE erasures SET lease_owner = NULL, lease_until = NULL, attempts = 0, next_at = %(at)s
WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: due
-- What is still to be erased, or, the other lane's, what only needs a second look.
SELECT id FROM erasures
WHERE next_at <= now() AND (state IN ('verified', 'final')) = %s
      AND (lease_owner IS NULL OR lease_until < now()
           OR NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a
                          WHERE a.pid || '/' || a.backend_start = lease_owner))
ORDER BY next_at LIMIT %s;

-- name: set_plan
UPDATE erasures SET plan = %(plan)s, plan_digest = %(digest)s
WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: subject_now
SELECT handle, epoch, fence FROM subjects WHERE ref = %s;

-- name: subject_to_block
-- The row is locked too: who draws a new handle takes no advisory lock, and one drawn in between would be lost
-- with its key still in the vault.
SELECT handle, epoch, fence FROM subjects WHERE ref = %s FOR UPDATE;

-- name: still_held
SELECT FROM erasures WHERE id = %(id)s AND lease_owner = %(owner)s AND state = 'planned';

-- name: unfinished_handle
-- A second request meets a subject whose handle an earlier one has cleared but not yet emptied.
SELECT handle, epoch FROM erasures
WHERE subject = %s AND id <> %s AND handle IS NOT NULL
  AND state IN ('blocked', 'erasing', 'partial', 'needs_human')
ORDER BY blocked_at DESC LIMIT 1;

-- name: block_subject
UPDATE subjects
SET epoch = epoch + 1, handle = NULL, body = NULL, fence = %(fence)s, generation = generation + 1,
    fenced_at = GREATEST(fenced_at, %(at)s)
WHERE ref = %(ref)s;

-- name: block_erasure
-- By the clock, not by the transaction's begin: the lock and the vault were waited for in between.
UPDATE erasures
SET state = 'blocked', handle = %(handle)s, epoch = %(epoch)s, fence = %(fence)s,
    blocked_at = clock_timestamp(), plan = COALESCE(%(plan)s, plan),
    plan_digest = COALESCE(%(digest)s, plan_digest)
WHERE id = %(id)s AND lease_owner = %(owner)s AND state = 'planned'
RETURNING blocked_at;

-- name: set_state
UPDATE erasures SET state = %(state)s WHERE id = %(id)s AND lease_owner = %(owner)s;

-- name: set_before
INSERT INTO erasure_lines (erasure, entry, before, eraser, version)
SELECT %s, * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[])
ON CONFLICT (erasure, entry) DO UPDATE SET before = GREATEST(erasure_lines.before, excluded.before)
RETURNING entry, before;

-- name: known_so_far
SELECT (SELECT jsonb_object_agg(entry, before) FROM erasure_lines WHERE erasure = %(id)s), items -> 'counts'
FROM erasures WHERE id = %(id)s;

-- name: save_lines
INSERT INTO erasure_lines (erasure, entry, before, after, status, proven, target, method, eraser,
                           version, expires_at, reason, observed_at)
SELECT %s, l.* FROM jsonb_to_recordset(%s) AS l(
    entry text, before bigint, after bigint, status text, proven text[], target text[], method text, eraser text,
    version text, expires_at timestamptz, reason text, observed_at timestamptz)
ON CONFLICT (erasure, entry) DO UPDATE
SET after = excluded.after, status = excluded.status, proven = excluded.proven,
    target = excluded.target, method = excluded.method, eraser = excluded.eraser,
    version = excluded.version, expires_at = excluded.expires_at, reason = excluded.reason,
    observed_at = excluded.observed_at;

-- name: newest_receipt
SELECT digest, evidence FROM receipts WHERE erasure = %s ORDER BY seq DESC LIMIT 1;

-- name: lock_head
-- Made where it is missing, held until the receipt is stored.
INSERT INTO receipt_heads AS h (tenant) VALUES (%s) ON CONFLICT (tenant) DO UPDATE SET tenant = excluded.tenant
RETURNING h.seq, h.digest;

-- name: conclude
-- A receipt, the tenant's chain and the state that it shows, at once.
WITH head AS (
    UPDATE receipt_heads SET seq = %(sequence)s, digest = %(digest)s WHERE tenant = %(tenant)s
), erasure AS (
    UPDATE erasures
    SET state = %(state)s, attempts = 0,
        verified_at = CASE WHEN %(state)s <> 'needs_human' THEN COALESCE(verified_at, clock_timestamp())
                           ELSE verified_at END,
        finished_at = CASE WHEN %(state)s = 'final' THEN COALESCE(finished_at, clock_timestamp()) END,
        next_at = %(next_at)s, lease_owner = NULL, lease_until = NULL
    WHERE id = %(id)s AND lease_owner = %(owner)s
)
INSERT INTO receipts (digest, erasure, tenant, seq, supersedes, envelope, evidence, issued_at)
VALUES (%(digest)s, %(id)s, %(tenant)s, %(sequence)s, %(supersedes)s, %(envelope)s, %(evidence)s, %(at)s);

-- name: people_of
SELECT ref, handle, epoch FROM subjects WHERE tenant = %s;

-- name: page_of_people
-- Only those with a life to end: a page that is done does not come again.
SELECT ref, lock FROM subjects
WHERE tenant = %s AND ref > %s AND handle IS NOT NULL ORDER BY ref LIMIT %s;

-- name: lock_tenant
SELECT fence FROM tenants WHERE ref = %s FOR UPDATE;

-- name: fence_tenant
UPDATE tenants SET fence = %(fence)s, fenced_at = GREATEST(fenced_at, %(at)s) WHERE ref = %(ref)s;

-- name: refuse_plan
UPDATE erasures SET state = 'cancelled', next_at = NULL, finished_at = now(), lease_owner = NULL
WHERE id = %(id)s AND lease_owner = %(owner)s AND state = 'planned';

-- name: by_state
SELECT state, count(*) FROM erasures GROUP BY state;

-- name: late
-- Open requests that have used up half, and four fifths, of their time.
SELECT count(*) FILTER (WHERE now() >= requested_at + (deadline - requested_at) / 2),
       count(*) FILTER (WHERE now() >= requested_at + (deadline - requested_at) * 0.8)
FROM erasures WHERE state NOT IN ('verified', 'final', 'cancelled');

-- name: oldest_open
SELECT extract(epoch FROM now() - min(requested_at)) FROM erasures
WHERE state NOT IN ('verified', 'final', 'cancelled');
