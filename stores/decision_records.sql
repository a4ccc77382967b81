-- name: decisions
-- A page of what policy said, oldest first; of one subject or of a whole tenant. The candidate may have expired.
SELECT d.row, d.candidate, d.handle, d.outcome, d.rule, d.reasons, d.policy_version, d.at, c.body
FROM decisions d
JOIN subjects s ON s.handle = d.handle AND s.epoch = d.epoch
LEFT JOIN candidates c ON c.id = d.candidate
WHERE s.tenant = %(tenant)s AND (%(subject)s::bytea IS NULL OR s.ref = %(subject)s::bytea) AND d.row > %(after)s
ORDER BY d.row
LIMIT %(limit)s
