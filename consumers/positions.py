"""Stored positions: ``positions(consumer, log, part, next)``, moved by compare-and-set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from schemas.errors import PositionMoved
from stores.sql import load

_SQL = load("consumers", "positions.sql")
Tx = psycopg.Connection[Any]
Part = tuple[int, int]
"""Number of a log and partition."""


class Move(NamedTuple):
    """One step: where this worker last saw the position, and where it goes."""

    log: int
    part: int
    held: int
    next: int


def logs(tx: Tx, ids: Mapping[str, str]) -> dict[str, int]:
    """Give the number of each topic's log, entering those never seen.

    Args:
        tx: an open transaction.
        ids: Kafka's own id by topic; a topic that was made anew has another and is another log.
    """
    known = _numbers(tx, ids.values())
    fresh = [topic for topic in sorted(ids) if ids[topic] not in known]
    if fresh:
        # Looked up first: the insert draws a number even where it does nothing, and they are few.
        tx.execute(_SQL.add_logs, {"topics": fresh, "ids": [ids[topic] for topic in fresh]})
        known = _numbers(tx, ids.values())
    return {topic: known[identity] for topic, identity in ids.items()}


def _numbers(tx: Tx, ids: Iterable[str]) -> dict[str, int]:
    return dict(tx.execute(_SQL.known_logs, {"ids": list(ids)}).fetchall())


def read(tx: Tx, consumer: str, numbers: Iterable[int]) -> dict[Part, int]:
    """Read a consumer's positions in these logs."""
    rows = tx.execute(_SQL.read, {"consumer": consumer, "logs": sorted(set(numbers))})
    return {(log, part): following for log, part, following in rows}


def cuts(tx: Tx, numbers: Iterable[int]) -> dict[Part, int]:
    """Read how far these logs were cut on purpose, every reader being past that."""
    return {(log, part): upto for log, part, upto in tx.execute(_SQL.cuts, {"logs": sorted(set(numbers))})}


def add(tx: Tx, consumer: str, starts: Mapping[Part, int]) -> None:
    """Enter first positions; one that is there already stays as it is."""
    if starts:
        parts = sorted(starts)
        tx.execute(
            _SQL.add,
            {
                "consumer": consumer,
                "logs": [log for log, _ in parts],
                "parts": [part for _, part in parts],
                "nexts": [starts[part] for part in parts],
            },
        )


def move(tx: Tx, consumer: str, moves: Sequence[Move]) -> None:
    """Move all or none, as the transaction's first statement.

    Raises:
        PositionMoved: one of them is not where this worker last saw it; roll back.
    """
    ordered = sorted(moves)
    done = tx.execute(
        _SQL.move,
        {
            "consumer": consumer,
            "logs": [step.log for step in ordered],
            "parts": [step.part for step in ordered],
            "helds": [step.held for step in ordered],
            "nexts": [step.next for step in ordered],
        },
    )
    if done.rowcount != len(ordered):
        raise PositionMoved
