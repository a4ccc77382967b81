-- name: take_slot
SELECT pg_try_advisory_lock(%(family)s, %(slot)s)

-- name: settings
-- A worker's transaction is never idle for long, so one that is belongs to a process that was stopped:
-- its locks must not keep its successor waiting.
SELECT set_config('idle_in_transaction_session_timeout', '15s', false)
