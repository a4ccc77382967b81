"""Plays the worker for one consumer: one batch, one transaction, and the same again after a race."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime
from typing import Any

import orjson

from consumers.contract import BaseConsumer
from schemas.errors import TransientError
from schemas.settings import Settings
from schemas.topics import CANDIDATES, TURNS
from stores.database import connect, translate
from streams.codec import Message, Position, Record

NOW_MS = int(time.time() * 1000)
_OFFSETS = itertools.count()


class Driven:
    """A consumer, a connection, and what it has published so far."""

    def __init__(self, consumer: BaseConsumer[Any, Any, Any], settings: Settings) -> None:
        self.consumer = consumer
        self.tx = connect(settings.database)
        self.said: list[Message] = []

    def take(self, *records: Record) -> Any:
        while True:
            try:
                return self._once(records)
            except TransientError:
                self.tx.rollback()

    def _once(self, records: tuple[Record, ...]) -> Any:
        ready = self.consumer.prepare(records)
        with translate():
            state = self.consumer.load(self.tx, ready)
            result = self.consumer.decide(ready, state)
            self.consumer.store(self.tx, result)
            self.tx.commit()
        self.said += self.consumer.publish(result)
        self.consumer.settle(result)
        return result

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        rows = self.tx.execute(sql).fetchall()
        self.tx.commit()
        return rows

    def close(self) -> None:
        self.tx.close()
        self.consumer.close()  # type: ignore[attr-defined]


def logs(settings: Settings) -> None:
    """Enter the two logs under the numbers 1 and 2, as the worker would."""
    with connect(settings.database, autocommit=True) as connection:
        for topic in (TURNS, CANDIDATES):
            connection.execute("INSERT INTO logs (topic, topic_id) VALUES (%s, %s)", (topic, topic))


def raw(value: bytes, kind: str = "org.obelus.turn.v1", *, pos: int | None = None, part: int = 0) -> Record:
    at = next(_OFFSETS) if pos is None else pos
    return Record(Position(1, part, at), TURNS, kind, f"e{at}", "k", value, NOW_MS)


def turn(text: str, message_id: str, *, pos: int | None = None, part: int = 0, **fields: Any) -> Record:
    event = {
        "tenant": "acme",
        "subject": "ann",
        "conversation": "c1",
        "message_id": message_id,
        "role": "user",
        "text": text,
        "at": datetime.now(UTC),
    }
    event |= fields
    return raw(orjson.dumps({name: item for name, item in event.items() if item is not None}), pos=pos, part=part)


def control(action: str, request_id: str, *, pos: int | None = None, **fields: Any) -> Record:
    event = {
        "tenant": "acme",
        "subject": "ann",
        "request_id": request_id,
        "actor": "person",
        "at": datetime.now(UTC),
        "action": action,
        **fields,
    }
    return raw(orjson.dumps(event), "org.obelus.control.v1", pos=pos)


def announced(messages: list[Message]) -> list[Record]:
    """What a consumer has published, as the next one would read it."""
    return [
        Record(Position(2, 0, place), item.topic, item.type, item.event_id, item.key, item.body, NOW_MS)
        for place, item in enumerate(messages)
    ]
