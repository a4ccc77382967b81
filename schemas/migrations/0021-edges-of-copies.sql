-- Copies name their parents in the lineage too: traces, kept answers, session windows. One that shows nothing of
-- anybody's memory comes from the person asked about, who stands there by handle.

-- until: when a copy outside this database has ended by itself, so that its rows may go; null for what lives here.
ALTER TABLE lineage ADD COLUMN until timestamptz;
CREATE INDEX lineage_until ON lineage (until) WHERE until IS NOT NULL;

INSERT INTO lineage (child_kind, child, parent_kind, parent, handle)
SELECT 'trace', t.id, 'memory', given, t.handle FROM traces t CROSS JOIN unnest(t.memories) AS given
UNION ALL
SELECT 'trace', t.id, 'subject', t.handle, t.handle FROM traces t WHERE cardinality(t.memories) = 0
ON CONFLICT DO NOTHING;
ALTER TABLE traces DROP COLUMN memories;

CREATE CONSTRAINT TRIGGER traces_have_parents AFTER INSERT ON traces
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_orphan('trace', 'id');

-- Stores a trace with its edges, and those of the answer that is about to be kept under the id entry (null for none),
-- in one round trip, and only while the subject is still who was read: none of it must outlive a Block.
-- plpgsql, since each statement in it sees what was committed before that statement, so the row is read under the lock.
DROP FUNCTION leave_trace(bigint, bytea, bytea, integer, bytea, text, text, boolean, bytea[], bytea);
CREATE FUNCTION leave_trace(
    subject_lock bigint, subject_ref bytea, subject_handle bytea, subject_epoch integer, trace bytea,
    policy text, index text, without_index boolean, given bytea[], sealed bytea, entry bytea, entry_until timestamptz
) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kind text := CASE WHEN cardinality(given) = 0 THEN 'subject' ELSE 'memory' END;
    parents bytea[] := CASE WHEN cardinality(given) = 0 THEN ARRAY[subject_handle] ELSE given END;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(subject_lock);
    INSERT INTO traces (id, handle, epoch, policy_version, index_version, degraded, body)
    SELECT trace, s.handle, s.epoch, policy, index, without_index, sealed
    FROM subjects s
    WHERE s.ref = subject_ref AND s.handle = subject_handle AND s.epoch = subject_epoch AND s.consent <> 'paused';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO lineage (child_kind, child, parent_kind, parent, handle)
    SELECT 'trace', trace, kind, p, subject_handle FROM unnest(parents) AS p;
    IF entry IS NOT NULL THEN
        -- In order, since the same question may be answered twice at once.
        INSERT INTO lineage AS l (child_kind, child, parent_kind, parent, handle, until)
        SELECT 'cached', entry, kind, p, subject_handle, entry_until FROM unnest(parents) AS p ORDER BY p
        ON CONFLICT (child, parent) DO UPDATE SET until = greatest(l.until, excluded.until);
    END IF;
    RETURN true;
END
$$;
