"""A log, a database and the worker's clients in memory, each of which fails where it is told to.

The clients stand for confluent-kafka's consumer and producer and for the session, so that the real
`Intake`, `Outlet`, `Resync` and `Worker` run on them. `Cluster.trouble` names the next fault; every step
that may fail passes its name to `Cluster.step`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from confluent_kafka import OFFSET_END, KafkaError, KafkaException, TopicPartition

from consumers import deadletters, positions
from consumers.contract import BaseConsumer, Span
from consumers.deadletters import DeadLetter
from consumers.faults import Faults
from consumers.intake import Intake
from consumers.outlet import Outlet
from consumers.parts import Parts
from consumers.resync import Resync
from consumers.stages import Stages
from consumers.watchdog import Progress
from consumers.worker import Worker
from schemas.errors import PartUnavailable, TransientError, UnknownOutcome
from streams.codec import Message, Position, Record

TOPIC = "memory.candidates"
"""One of ours, so that a lost range is mended rather than refused."""


class Crash(BaseException):
    """The process dies here."""


def kafka_error(kind: str) -> KafkaException:
    flags = {"retriable": False, "fatal": False, "abortable": False, "plain": False} | {kind: True}
    return KafkaException(
        KafkaError(
            KafkaError._TIMED_OUT,
            kind,
            fatal=flags["fatal"],
            retriable=flags["retriable"],
            txn_requires_abort=flags["abortable"],
        )
    )


@dataclass
class Cluster:
    """The broker's and the database's state: what survives every worker."""

    logs: dict[int, list[str | None]] = field(default_factory=lambda: {0: [], 1: []})
    """By partition the records by offset; None is a control record."""
    low: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    committed: dict[int, int] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)
    owners: dict[int, object] = field(default_factory=dict)
    tables: Tables = field(default_factory=lambda: Tables())
    trouble: dict[str, str] = field(default_factory=dict)
    """By step the fault that meets its next passing: `crash`, or a kind of error."""

    def step(self, name: str) -> str:
        """Pass a step; give the kind of error that is to happen there."""
        kind = self.trouble.pop(name, "")
        if kind == "crash":
            raise Crash(name)
        return kind


@dataclass
class Tables:
    """The database."""

    positions: dict[tuple[int, int], int] = field(default_factory=dict)
    rows: list[tuple[Position, str]] = field(default_factory=list)
    dead: dict[Position, str] = field(default_factory=dict)


class FakeTx:
    """Answers the statements of `consumers.positions` and `consumers.deadletters`, and nothing else."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def execute(self, query: str, given: dict[str, Any]) -> Any:
        sql = positions._SQL
        known = self.tables.positions
        if query == sql.known_logs:
            return SimpleNamespace(fetchall=lambda: [(name, 1) for name in given["ids"]])
        if query == sql.read:
            return [(*part, to) for part, to in known.items()]
        if query == sql.cuts:
            return []
        if query == sql.add:
            for log, part, to in zip(given["logs"], given["parts"], given["nexts"], strict=True):
                known.setdefault((log, part), to)
            return None
        if query == sql.move:
            return self._move(given)
        assert query == deadletters._SQL.add, query
        for at, reason in zip(
            zip(given["logs"], given["parts"], given["offsets"], strict=True), given["reasons"], strict=True
        ):
            self.tables.dead[Position(*at)] = reason
        return None

    def _move(self, given: dict[str, Any]) -> Any:
        steps = list(zip(given["logs"], given["parts"], given["helds"], given["nexts"], strict=True))
        assert steps == sorted(steps), "rows are locked in (log, part) order"
        good = [step for step in steps if self.tables.positions.get(step[:2]) == step[2]]
        if len(good) < len(steps):
            good = []
        for log, part, _, to in good:
            self.tables.positions[log, part] = to
        return SimpleNamespace(rowcount=len(good))


class FakeSession:
    """Transactions on a copy, which replaces the tables at the commit."""

    slot = 0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        cluster = self._cluster
        if cluster.step("pg_begin"):
            raise PartUnavailable
        draft = copy.deepcopy(cluster.tables)
        yield FakeTx(draft)
        kind = cluster.step("pg_commit")
        if kind == "refused":
            raise UnknownOutcome
        cluster.tables = draft
        if cluster.step("pg_committed") or kind:
            raise UnknownOutcome


@dataclass
class Arrived:
    """What stands for confluent-kafka's message."""

    part: int
    at: int
    text: str = ""
    code: int | None = None
    fatal_: bool = False

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return self.part

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code, "", fatal=self.fatal_)

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return self.text.encode()

    def headers(self) -> list[tuple[str, bytes]]:
        return [("ce_type", b"t"), ("ce_id", self.text.encode())]

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class FakeConsumer:
    """A group member. What the group decides reaches it when it polls, which may be late."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.fetch: dict[int, int] = {}
        self.paused: set[int] = set()
        self.news: list[tuple[str, list[int]]] = []
        self._ended: set[tuple[int, int]] = set()
        self._on: dict[str, Callable[..., None]] = {}
        self.on_commit: Callable[..., None] = lambda error, parts: None

    def subscribe(self, topics: Sequence[str], **callbacks: Callable[..., None]) -> None:
        self._on = callbacks

    def _hear(self) -> bool:
        if not self.news:
            return False
        word, parts = self.news.pop(0)
        self._on[word](self, [TopicPartition(TOPIC, part) for part in parts])
        return True

    def poll(self, timeout: float) -> Arrived | None:
        kind = self._cluster.step("poll")
        if kind == "fatal":
            return Arrived(0, 0, code=KafkaError._FATAL, fatal_=True)
        if kind:
            return Arrived(0, 0, code=KafkaError._AUTO_OFFSET_RESET)
        return None if self._hear() else self._next()

    def consume(self, count: int, timeout: float) -> list[Arrived]:
        """Like librdkafka's, may give records of a partition that was revoked within the call."""
        found: list[Arrived] = []
        while len(found) < count and (item := self._next()) is not None:
            found.append(item)
            if len(found) == 2:
                self._hear()
        if self._cluster.step("consume"):
            raise kafka_error("plain")
        return found

    def _next(self) -> Arrived | None:
        for part in sorted(set(self.fetch) - self.paused):
            log, at = self._cluster.logs[part], self.fetch[part]
            while at < len(log) and log[at] is None:
                at += 1
            self.fetch[part] = at
            if at < len(log):
                self.fetch[part] = at + 1
                return Arrived(part, at, log[at] or "")
            if (part, at) not in self._ended:
                self._ended.add((part, at))
                return Arrived(part, at, code=KafkaError._PARTITION_EOF)
        return None

    def incremental_assign(self, parts: list[TopicPartition]) -> None:
        for at in parts:
            assert at.partition not in self.fetch
            assert at.offset == OFFSET_END
            self.fetch[at.partition] = len(self._cluster.logs[at.partition])

    def incremental_unassign(self, parts: list[TopicPartition]) -> None:
        # Like librdkafka's, a pause outlives the assignment.
        for at in parts:
            self.fetch.pop(at.partition, None)

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, part) for part in self.fetch]

    def pause(self, parts: list[TopicPartition]) -> None:
        self.paused |= {at.partition for at in parts}

    def resume(self, parts: list[TopicPartition]) -> None:
        self.paused -= {at.partition for at in parts}

    def seek(self, at: TopicPartition) -> None:
        if self._cluster.step("seek") or at.partition not in self.fetch:
            raise kafka_error("plain")
        self.fetch[at.partition] = at.offset
        self._ended = {(part, offset) for part, offset in self._ended if part != at.partition}

    def committed(self, parts: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if self._cluster.step("committed"):
            raise kafka_error("plain")
        known = self._cluster.committed
        return [TopicPartition(TOPIC, at.partition, known.get(at.partition, -1001)) for at in parts]

    def get_watermark_offsets(self, at: TopicPartition, timeout: float) -> tuple[int, int]:
        if self._cluster.step("watermarks"):
            raise kafka_error("plain")
        return self._cluster.low[at.partition], len(self._cluster.logs[at.partition])

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        if self._cluster.step("commit"):
            self.on_commit(KafkaError(KafkaError.STALE_MEMBER_EPOCH), offsets)
            return
        for at in offsets:
            self._cluster.committed[at.partition] = at.offset

    def fenced(self) -> bool:
        """A member that the group has put out may not commit; one that was only told less may."""
        return self not in self._cluster.owners.values()

    def consumer_group_metadata(self) -> Any:
        return self


class FakeProducer:
    """One transaction at a time, visible at its commit."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._open: list[str] | None = None
        self._offsets: list[TopicPartition] = []

    def _step(self, name: str) -> None:
        kind = self._cluster.step(name)
        if kind:
            raise kafka_error(kind)

    def init_transactions(self, timeout: float) -> None:
        self._step("init")

    def begin_transaction(self) -> None:
        self._step("begin")
        assert self._open is None, "the one before is still open"
        self._open, self._offsets = [], []

    def produce(self, topic: str, value: bytes, key: str, headers: list[tuple[str, str]]) -> None:
        assert self._open is not None
        self._step("produce")
        self._open.append(dict(headers)["ce_id"])

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        return 1 if self._cluster.step("flush") else 0

    def send_offsets_to_transaction(self, offsets: list[TopicPartition], member: FakeConsumer, timeout: float) -> None:
        self._step("send_offsets")
        if member.fenced():
            raise kafka_error("abortable")
        self._offsets = offsets

    def commit_transaction(self, timeout: float) -> None:
        kind = self._cluster.step("kafka_commit")
        if kind and kind != "done":
            raise kafka_error(kind)
        assert self._open is not None
        self._cluster.published += self._open
        for at in self._offsets:
            self._cluster.committed[at.partition] = at.offset
        if kind == "done":
            # Applied, but the answer is lost and the client must be given up.
            raise kafka_error("fatal")
        self._open = None
        if self._cluster.step("kafka_committed"):
            raise AssertionError("only a crash can be here")

    def abort_transaction(self, timeout: float) -> None:
        self._step("abort")
        self._open = None


@dataclass
class Result:
    rows: list[tuple[Position, str]]
    dead_letters: list[DeadLetter] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {"stored": len(self.rows)}


class Echo(BaseConsumer[list[Record], None, Result]):
    """Stores a row for each record and says its text; `bad…` is refused by the whole batch."""

    name = "echo"
    topics = (TOPIC,)

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.settled: list[str] = []
        self.batches: list[list[str]] = []
        self.refuse: dict[str, Exception] = {}

    def prepare(self, batch: Sequence[Record]) -> list[Record]:
        self.batches.append([item.event_id for item in batch])
        if self._cluster.step("prepare"):
            raise TransientError
        for item in batch:
            if item.event_id in self.refuse:
                raise self.refuse[item.event_id]
        return list(batch)

    def load(self, tx: Any, ready: list[Record]) -> None:
        if self._cluster.step("load"):
            raise TransientError

    def decide(self, ready: list[Record], state: None) -> Result:
        return Result([(item.position, item.event_id) for item in ready])

    def store(self, tx: Any, result: Result) -> None:
        if self._cluster.step("store"):
            raise TransientError
        tx.tables.rows += result.rows

    def publish(self, result: Result) -> list[Message]:
        return [_said(text) for _, text in result.rows]

    def republish(self, tx: Any, spans: Sequence[Span]) -> list[Message]:
        return [
            _said(text)
            for at, text in tx.tables.rows
            for span in spans
            if at[:2] == span[:2] and span.start <= at.pos < span.stop
        ]

    def settle(self, result: Result) -> None:
        kind = self._cluster.step("settle")
        if kind:
            raise UnknownOutcome
        self.settled += [text for _, text in result.rows]


def _said(text: str) -> Message:
    return Message("out", "k", "t", text, b"")


class Rig:
    """One worker on the doubles."""

    def __init__(self, cluster: Cluster, batch_size: int = 4) -> None:
        self.cluster = cluster
        self.stop = False
        self.consumer = FakeConsumer(cluster)
        self.echo = Echo(cluster)
        self.producer = FakeProducer(cluster)
        self.intake = Intake(self._connect, [TOPIC])
        self.intake.hold = self._hold  # type: ignore[method-assign]
        session: Any = FakeSession(cluster)
        outlet = Outlet(lambda _: self.producer, lambda _: nullcontext(), Faults())  # type: ignore[arg-type, return-value]
        self.progress = Progress()
        self.worker = Worker(
            Parts(
                consumer=self.echo,
                intake=self.intake,
                session=session,
                outlet=outlet,
                resync=Resync(self.echo, self.intake, session, outlet, lambda: {TOPIC: "id"}),
                errands=lambda: None,
                stages=Stages("echo"),
                progress=self.progress,
                faults=Faults(),
                stopping=lambda: self.stop,
                batch_size=batch_size,
            )
        )

    def _connect(self, heard: Callable[..., None]) -> Any:
        self.consumer.on_commit = heard
        return self.consumer

    def _hold(self, seconds: float, done: Callable[[], bool]) -> None:
        """Wait no time, but hear the group's news meanwhile, as the real one does."""

        def heard() -> bool:
            self.consumer._hear()
            return True

        Intake.hold(self.intake, 1.0, heard)

    def assign(self, *parts: int) -> None:
        """Give it partitions; it hears of them when it polls."""
        for part in parts:
            self.cluster.owners[part] = self.consumer
        self.consumer.news.append(("on_assign", list(parts)))

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.worker.turn()
