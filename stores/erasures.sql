-- name: status
SELECT e.id, e.tenant, e.kind, e.state, e.selector, e.plan, e.plan_digest, e.requested_at, e.deadline,
       e.not_before, e.blocked_at, e.verified_at, e.finished_at, e.tag
FROM erasures AS e WHERE e.id = %s;

-- name: listing
SELECT e.id, e.tenant, e.kind, e.state, e.selector, e.plan, e.plan_digest, e.requested_at, e.deadline,
       e.not_before, e.blocked_at, e.verified_at, e.finished_at, e.tag
FROM erasures AS e
WHERE NOT %(only_open)s OR e.state NOT IN ('verified', 'final', 'cancelled')
ORDER BY e.accepted_at, e.id;

-- name: waiting
SELECT erasure, entry, reason FROM erasure_lines
WHERE erasure = ANY(%s) AND status IN ('open', 'external') ORDER BY erasure, entry;

-- name: newest_receipt
SELECT digest, seq, tenant, envelope, evidence FROM receipts
WHERE erasure = %s ORDER BY seq DESC LIMIT 1;

-- name: chain
SELECT seq, envelope FROM receipts WHERE tenant = %s AND seq <= %s ORDER BY seq;
