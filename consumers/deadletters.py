"""Positions given up: a reason of one fixed word and where the record lies, never what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from stores.sql import load
from streams.codec import Position

_SQL = load("consumers", "deadletters.sql")

Tx = psycopg.Connection[Any]

INTERNAL = "internal_error"
"""The reason where a record meets a fault of the program; its type and place are in the log."""


class DeadLetter(NamedTuple):
    """One position and why it was given up."""

    position: Position
    reason: str


def add(tx: Tx, consumer: str, letters: Sequence[DeadLetter]) -> None:
    """Store them in the transaction that moves past their positions; again is no harm."""
    if not letters:
        return
    latest = {letter.position: letter.reason for letter in letters}
    places = sorted(latest)
    tx.execute(
        _SQL.add,
        {
            "consumer": consumer,
            "logs": [place.log for place in places],
            "parts": [place.part for place in places],
            "offsets": [place.pos for place in places],
            "reasons": [latest[place] for place in places],
        },
    )


class Listed(NamedTuple):
    """One stored dead letter."""

    id: int
    consumer: str
    topic: str
    log: int
    part: int
    pos: int
    reason: str
    state: str
    at: datetime


class Asked(NamedTuple):
    """One dead letter that is to be tried again; ``topic_id`` is that of its log."""

    id: int
    topic: str
    topic_id: str
    log: int
    part: int
    pos: int


class Answer(NamedTuple):
    """What became of a request: ``waiting`` until the consumer has tried."""

    id: int
    state: str
    reason: str
    waiting: bool


def listed(tx: Tx, identity: int | None = None) -> list[Listed]:
    """Give the open ones, oldest first, or the one of that id whatever its state."""
    return [Listed(*row) for row in tx.execute(_SQL.listed, {"id": identity})]


def ask(tx: Tx, ids: Sequence[int]) -> None:
    """Ask for open ones to be tried again by their consumer."""
    tx.execute(_SQL.ask, {"ids": list(ids)})


def discard(tx: Tx, ids: Sequence[int]) -> None:
    """Give open ones up for good, so that they hold no log back from being cut."""
    tx.execute(_SQL.discard, {"ids": list(ids)})


def answers(tx: Tx, ids: Sequence[int]) -> list[Answer]:
    """Say what became of requests; an id that does not exist is left out."""
    return [Answer(*row) for row in tx.execute(_SQL.answers, {"ids": list(ids)})]


def asked(tx: Tx, consumer: str) -> list[Asked]:
    """Give what is to be tried again."""
    return [Asked(*row) for row in tx.execute(_SQL.asked, {"consumer": consumer})]


def take(tx: Tx, identity: int) -> bool:
    """Lock one that is still to be tried; False where another worker has it."""
    return tx.execute(_SQL.take, {"id": identity}).fetchone() is not None


def answer(tx: Tx, identity: int, state: str, reason: str | None = None) -> None:
    """Close a request: ``redriven``, ``gone``, or still ``open`` for a (new) reason."""
    tx.execute(_SQL.answer, {"id": identity, "state": state, "reason": reason})
