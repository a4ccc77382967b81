"""Any order of faults, crashes, rebalances and zombies leaves one row for each record.

Two workers share a log and a database in memory. A rule moves partitions between them at once for the
group, while the former owner may hear of it much later; others make the next passing of a step fail or
crash. At the end all is let run, and everything must be there once.
"""

from __future__ import annotations

import contextlib
from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from consumers.held import Gone
from schemas.errors import PartUnavailable
from tests.unit.worker.doubles import Cluster, Crash, Rig

ERRORS = {
    "poll": ["reset", "fatal"],
    "consume": ["plain"],
    "seek": ["plain"],
    "committed": ["plain"],
    "watermarks": ["plain"],
    "commit": ["lost"],
    "prepare": ["transient", "crash"],
    "pg_begin": ["away", "crash"],
    "load": ["transient"],
    "store": ["transient", "crash"],
    "pg_commit": ["refused", "lost", "crash"],
    "pg_committed": ["crash"],
    "begin": ["plain", "fatal", "crash"],
    "produce": ["abortable", "crash"],
    "flush": ["left"],
    "send_offsets": ["abortable", "retriable", "fatal"],
    "kafka_commit": ["abortable", "retriable", "fatal", "done", "crash"],
    "kafka_committed": ["crash"],
    "abort": ["retriable", "fatal", "crash"],
    "settle": ["unknown", "crash"],
}
FAULTS = sorted((step, kind) for step, kinds in ERRORS.items() for kind in kinds)
PARTS = st.sampled_from([0, 1])
WHO = st.sampled_from([0, 1])


class Machine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.cluster = Cluster()
        self.count = 0
        self.rigs = [Rig(self.cluster), Rig(self.cluster)]
        self.rigs[0].assign(0, 1)

    @rule(part=PARTS, count=st.integers(1, 6), control=st.booleans())
    def produce(self, part: int, count: int, control: bool) -> None:
        for _ in range(count):
            self.cluster.logs[part].append(f"r{self.count}")
            self.count += 1
        if control:
            self.cluster.logs[part].append(None)

    @rule(fault=st.sampled_from(FAULTS))
    def arm(self, fault: tuple[str, str]) -> None:
        self.cluster.trouble = dict([fault])

    @rule(who=WHO, times=st.integers(1, 3))
    def turn(self, who: int, times: int) -> None:
        for _ in range(times):
            self._turn(who)

    def _turn(self, who: int) -> None:
        try:
            self.rigs[who].worker.turn()
        except (Crash, Gone):
            self._replace(who)
        except PartUnavailable:
            raise AssertionError("a passing fault must not end a worker") from None

    def _replace(self, who: int) -> None:
        """A new process; what the old one held goes to it."""
        old, new = self.rigs[who].consumer, Rig(self.cluster)
        self.rigs[who] = new
        new.assign(*[part for part, owner in self.cluster.owners.items() if owner is old])

    @rule(part=PARTS, told=st.booleans(), lost=st.booleans())
    def move(self, part: int, told: bool, lost: bool) -> None:
        """Give a partition to the other; where not told, the former owner goes on for now."""
        giver = next(rig for rig in self.rigs if self.cluster.owners.get(part) is rig.consumer)
        taker = next(rig for rig in self.rigs if rig is not giver)
        giver.consumer.news.append(("on_lost" if lost else "on_revoke", [part]))
        if told:
            giver.consumer._hear()
        taker.assign(part)

    @rule(who=WHO)
    def look(self, who: int) -> None:
        with contextlib.suppress(PartUnavailable):
            self.rigs[who].intake.lag()

    @rule(part=PARTS, back=st.integers(0, 8))
    def committed_is_behind(self, part: int, back: int) -> None:
        """A late commit of somebody else has set the offset back."""
        if part in self.cluster.committed:
            self.cluster.committed[part] = max(0, self.cluster.committed[part] - back)

    @invariant()
    def nothing_twice_and_nothing_skipped(self) -> None:
        if not hasattr(self, "cluster"):
            return
        tables = self.cluster.tables
        assert max(Counter(text for _, text in tables.rows).values(), default=1) == 1
        stored = {at for at, _ in tables.rows}
        for (_, part), following in tables.positions.items():
            log = self.cluster.logs[part]
            expected = {pos for pos in range(following) if log[pos] is not None}
            assert {at.pos for at in stored if at.part == part} == expected

    @invariant()
    def what_is_committed_is_published(self) -> None:
        if not hasattr(self, "cluster"):
            return
        said = set(self.cluster.published)
        for part, offset in self.cluster.committed.items():
            log = self.cluster.logs[part]
            assert {log[pos] for pos in range(min(offset, len(log)))} - {None} <= said

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        self.cluster.trouble = {}
        for _ in range(80):
            for who in (0, 1):
                self._turn(who)
        for rig in self.rigs:
            rig.intake.lag()
            self._turn(self.rigs.index(rig))
        tables = self.cluster.tables
        everything = {text for log in self.cluster.logs.values() for text in log if text is not None}
        assert {text for _, text in tables.rows} == everything
        assert set(self.cluster.published) == everything
        if everything:
            ends = {(1, part): len(log) for part, log in self.cluster.logs.items()}
            assert tables.positions == ends
            assert self.cluster.committed == {part: len(log) for part, log in self.cluster.logs.items()}


Machine.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestMachine = Machine.TestCase
