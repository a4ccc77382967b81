"""Going on without what an inbound log has lost: only knowingly, exactly what is gone, and on record.

A consumer that finds its position outside the log stops and names the range (see `resync`). Whoever accepts that
range moves the position to where the log goes on; the consumer then starts as if it had been there all along.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from consumers import positions
from consumers.positions import Move, Part, Tx
from consumers.resync import Place, chart
from schemas.errors import ObelusError
from stores.sql import load

_SQL = load("consumers", "positions.sql")
_FORM = re.compile(r"(?P<consumer>[a-z]+):(?P<topic>[\w.\-]+)/(?P<part>\d+):(?P<start>\d+)-(?P<last>\d+)")


class NotLost(ObelusError):
    """The range is not what a consumer has lost: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets ``start`` to ``stop - 1`` of a partition, lost to a consumer."""

    consumer: str
    topic: str
    part: int
    start: int
    stop: int

    def __str__(self) -> str:
        """Give the form that a command takes."""
        return f"{self.consumer}:{self.topic}/{self.part}:{self.start}-{self.stop - 1}"

    @classmethod
    def parse(cls, text: str) -> Loss:
        """Read that form.

        Raises:
            ValueError: it is another.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(
                "a lost range is written CONSUMER:TOPIC/PARTITION:FIRST-LAST, as the consumer's log names it"
            )
        return cls(found["consumer"], found["topic"], int(found["part"]), int(found["start"]), int(found["last"]) + 1)


def accept(tx: Tx, loss: Loss, log: int, low: int, high: int) -> bool:
    """Move the position past a lost range and keep a row of it; False where that was done before.

    Args:
        tx: an open transaction.
        loss: what is gone.
        log: number of the log.
        low: first offset that the partition still has.
        high: offset after its last.

    Raises:
        NotLost: the consumer has lost something else, or nothing.
        PositionMoved: a running consumer moved meanwhile; nothing was changed.
    """
    at: Part = (log, loss.part)
    row = (loss.consumer, log, loss.part, loss.start, loss.stop)
    if tx.execute(_SQL.accepted, row).fetchone() is not None:
        return False
    stored = positions.read(tx, loss.consumer, [log]).get(at)
    if stored is None:
        raise NotLost(f"{loss.consumer} has no position in {loss.topic}/{loss.part}")
    course = chart(Place(stored, None, low, high))
    if course.lost is None:
        raise NotLost(
            f"{loss.consumer} stands at {stored} of {loss.topic}/{loss.part}, which has {low} to {high - 1}: "
            "nothing is lost"
        )
    if course.lost != (loss.start, loss.stop):
        gone = Loss(loss.consumer, loss.topic, loss.part, *course.lost)
        raise NotLost(f"what is lost is {gone}")
    positions.move(tx, loss.consumer, [Move(*at, stored, course.start)])
    tx.execute(_SQL.accept, row)
    return True
