"""What a consumer brings and what the worker promises (design, section 6).

A consumer is a pure ``decide`` with its SQL around it. The worker owns the log, the positions, the
transactions and every retry; a consumer sees records, one open transaction, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import psycopg

from consumers.deadletters import DeadLetter
from streams.codec import Message, Record

Tx = psycopg.Connection[Any]
"""An open transaction. Who gets one neither commits it nor rolls it back."""


class Span(NamedTuple):
    """A stretch of one log: offsets ``start`` up to, not including, ``stop``."""

    log: int
    part: int
    start: int
    stop: int


class Outcome(Protocol):
    """What every result must offer beside a consumer's own fields."""

    @property
    def dead_letters(self) -> Sequence[DeadLetter]:
        """Positions given up; the worker stores them in the same transaction."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each outcome occurred, for ``obelus_events_total``."""


Ready = TypeVar("Ready")
State = TypeVar("State")
Result = TypeVar("Result", bound=Outcome)


class BaseConsumer(Generic[Ready, State, Result]):
    """The calling contract of each step, with defaults for the optional ones.

    A step raises `TransientError` to have the same work tried again, `PermanentError` to have it
    given up: the worker then halves the batch until the one position at fault stands alone.
    """

    name: str
    topics: tuple[str, ...]
    batch_size: int = 1000
    tick_seconds: float = 1.0

    def prepare(self, batch: Sequence[Record]) -> Ready:
        """Do the slow work: parse, screen, extract, embed. No transaction is open.

        Called again for the same records after `SubjectMoved`, a transient fault or a rebalance, so
        it leaves nothing behind.
        """
        raise NotImplementedError

    def load(self, tx: Tx, ready: Ready) -> State:
        """Lock the subjects, then read what `decide` needs: one query for each table.

        The positions have been moved in this transaction.

        Raises:
            SubjectMoved: what `prepare` relied on is no longer so; it is called again.
        """
        raise NotImplementedError

    def decide(self, ready: Ready, state: State) -> Result:
        """Apply the rules. Pure: the same arguments give the same result."""
        raise NotImplementedError

    def store(self, tx: Tx, result: Result) -> None:
        """Write the result, each row with the position of its cause; set-based."""
        raise NotImplementedError

    def publish(self, result: Result) -> Sequence[Message]:
        """Give what the log must hear of a result that is now stored."""
        return ()

    def republish(self, tx: Tx, spans: Sequence[Span]) -> Sequence[Message]:
        """Give what `publish` gave for causes in these spans, from what was stored.

        More than was asked for does no harm: whoever reads our topics is idempotent.
        """
        return ()

    def settle(self, result: Result) -> None:
        """Bring about effects outside both PostgreSQL and the log; observed and repeatable.

        Tried again in place while it raises `TransientError` or `UnknownOutcome`; given up where
        the partitions go to another worker, so `tick` must take up what was left.
        """

    def tick(self, tx: Tx) -> Sequence[Message]:
        """Do what time demands, in a transaction of its own, every ``tick_seconds``.

        What it returns is stored in ``outbox`` by the same transaction and published at least once.
        """
        return ()

    def after_tick(self) -> None:
        """Follow up a tick outside its transaction, once its messages are out."""

    def reconcile(self, tx: Tx, lost: Sequence[Span]) -> None:
        """Repair from the tables what a log of ours has lost; the spans are gone for good."""
