"""Where the inbound logs end at this moment: the fence that a Block stores (design, section 7)."""

from __future__ import annotations

import time
from collections.abc import Iterable

import psycopg
from confluent_kafka.admin import AdminClient

from schemas.errors import PartUnavailable
from schemas.topics import TOPICS
from streams.offsets import LogEnd, log_ends

INBOUND = tuple(topic.name for topic in TOPICS if topic.inbound)

BOUND_SECONDS = 2.0
"""The subject's lock is held meanwhile; whoever waits for it must not wait long."""

_NUMBERS = "SELECT topic_id, no FROM logs WHERE topic_id = ANY(%s)"
_INSERT = """
INSERT INTO logs (topic, topic_id) SELECT * FROM unnest(%s::text[], %s::text[])
ON CONFLICT DO NOTHING
"""


def inbound_ends(admin: AdminClient) -> list[LogEnd]:
    """Read the end of every partition of every inbound log.

    Raises:
        PartUnavailable: the broker did not answer within the bound.
    """
    begun = time.monotonic()
    ends = log_ends(admin, INBOUND, timeout=BOUND_SECONDS)
    if time.monotonic() - begun > BOUND_SECONDS:
        raise PartUnavailable("kafka: the logs' ends took longer than a block may hold its lock")
    return ends


def number_logs(conn: psycopg.Connection, ends: Iterable[LogEnd]) -> dict[str, int]:
    """Give the numbers (table ``logs``) of the logs by Kafka's topic id, drawing missing ones."""
    topics = {end.topic_id: end.topic for end in ends}
    ids = sorted(topics)
    found: dict[str, int] = dict(conn.execute(_NUMBERS, (ids,)).fetchall())
    missing = [identity for identity in ids if identity not in found]
    if missing:
        conn.execute(_INSERT, ([topics[identity] for identity in missing], missing))
        found = dict(conn.execute(_NUMBERS, (ids,)).fetchall())
    return found


def spelled(ends: Iterable[LogEnd], numbers: dict[str, int]) -> dict[str, int]:
    """Write the ends as a fence: ``{"log/part": offset}``."""
    return {f"{numbers[end.topic_id]}/{end.part}": end.high for end in ends}
