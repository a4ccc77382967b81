"""Positions given up: a reason of one fixed word and where the record lies, never what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg

from stores.sql import load
from streams.codec import Position

_SQL = load("consumers", "deadletters.sql")

INTERNAL = "internal_error"
"""The reason where a record meets a fault of the program; its type and place are in the log."""


class DeadLetter(NamedTuple):
    """One position and why it was given up."""

    position: Position
    reason: str


def add(tx: psycopg.Connection[Any], consumer: str, letters: Sequence[DeadLetter]) -> None:
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
