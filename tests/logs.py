"""The inbound logs without consumers: a test says itself who has read how far."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from redis import Redis

from schemas.eraser import Observation, Scope
from schemas.settings import Settings
from schemas.topics import TURNS
from schemas.words import SelectorKind
from stores.cache import redis_client
from stores.database import connect
from streams.codec import TURN, Message
from streams.cutter import Cutter
from streams.eraser import LogsEraser
from streams.fence import inbound_ends, number_logs, spelled
from streams.holders import Holders
from streams.offsets import LogEnd, group_id, log_ends
from streams.producer import publish
from streams.topics import admin_client

ENTRY = f"inbound_logs.{TURNS}"


def turn(text: str, subject: str = "ann") -> Message:
    event = {
        "tenant": "acme",
        "subject": subject,
        "conversation": "c1",
        "message_id": secrets.token_hex(8),
        "role": "user",
        "text": text,
        "at": datetime.now(UTC),
    }
    return Message(TURNS, f"acme:{subject}", TURN, secrets.token_hex(8), orjson.dumps(event))


class Logs:
    """A broker's inbound logs, a database for positions, and whoever is said to read."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.admin = admin_client(settings)
        self.connection = connect(settings.database, autocommit=True)
        self.redis: Redis = redis_client(settings)

    def close(self) -> None:
        self.connection.close()
        self.redis.close()

    def say(self, *texts: str, subject: str = "ann") -> None:
        publish(self.settings, [turn(text, subject) for text in texts])

    def ends(self) -> list[LogEnd]:
        return log_ends(self.admin, [TURNS])

    def busy(self, subject: str = "ann") -> LogEnd:
        """The one partition of a subject, by where its records went."""
        [end] = [end for end in self.ends() if end.high]
        return end

    def read_by(self, consumer: str, less: int = 0) -> None:
        """All of the turns, but for so many, are stored and committed."""
        ends = self.ends()
        numbers = number_logs(self.connection, ends)
        for end in ends:
            self.connection.execute(
                "INSERT INTO positions (consumer, log, part, next) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (consumer, log, part) DO UPDATE SET next = excluded.next",
                (consumer, numbers[end.topic_id], end.part, max(0, end.high - less)),
            )
        self.commit(group_id(consumer), less)

    def commit(self, group: str, less: int = 0) -> None:
        parts = [TopicPartition(end.topic, end.part, max(0, end.high - less)) for end in self.ends()]
        asked = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, parts)])
        asked[group].result(10)

    def forget_group(self, group: str) -> None:
        for future in self.admin.delete_consumer_groups([group]).values():
            future.result(10)

    def bury(self, end: LogEnd, offset: int) -> None:
        number = number_logs(self.connection, [end])[end.topic_id]
        self.connection.execute(
            "INSERT INTO dead_letters (consumer, log, part, pos, reason) VALUES ('extractor', %s, %s, %s, 'not_json')",
            (number, end.part, offset),
        )

    def scope(self, **changes: Any) -> Scope:
        """An erasure whose block was two seconds ago and whose fence is here."""
        ends = inbound_ends(self.admin)
        scope = Scope(
            erasure=b"e" * 16,
            kind=SelectorKind.SUBJECT,
            tenant=b"t" * 16,
            subject=b"s" * 16,
            blocked=True,
            fence=spelled(ends, number_logs(self.connection, ends)),
            blocked_at=datetime.now(UTC) - timedelta(seconds=2),
        )
        return replace(scope, **changes)

    def eraser(self, *, admin: Any = None, **holders: Any) -> LogsEraser:
        admin = admin or self.admin
        held = Holders(admin, lambda: self.connection, self.redis, **holders)
        return LogsEraser(admin, Cutter(self.settings, admin, lambda: self.connection, held))

    def erase(self, scope: Scope, **holders: Any) -> None:
        eraser = self.eraser(**holders)
        eraser.erase(eraser.plan(scope))

    def seen(self, scope: Scope, **holders: Any) -> Observation:
        """What is observed of the turns."""
        [found] = [seen for seen in self.eraser(**holders).observe(scope) if seen.entry == ENTRY]
        return found
