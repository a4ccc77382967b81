"""Where the inbound logs end at this moment: the fence that a Block stores (design, section 7)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import psycopg

from schemas.errors import PartUnavailable
from schemas.topics import TOPICS
from streams.client import Admin
from streams.offsets import LogEnd, group_id, group_positions, log_ends

INBOUND = tuple(topic.name for topic in TOPICS if topic.inbound)

BOUND_SECONDS = 2.0
"""The subject's lock is held meanwhile; whoever waits for it must not wait long."""

_NUMBERS = "SELECT topic_id, no FROM logs WHERE topic_id = ANY(%s)"
_INSERT = """
INSERT INTO logs (topic, topic_id) SELECT * FROM unnest(%s::text[], %s::text[])
ON CONFLICT DO NOTHING
"""


def inbound_ends(admin: Admin) -> list[LogEnd]:
    """Read the end of every partition of every inbound log; where it begins is not asked.

    Raises:
        PartUnavailable: the broker did not answer within the bound.
    """
    begun = time.monotonic()
    ends = log_ends(admin, INBOUND, timeout=BOUND_SECONDS, begins=False)
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


def ends_of(conn: psycopg.Connection, admin: Admin, topic: str) -> dict[str, int]:
    """Read where one topic ends now, as a fence.

    Raises:
        PartUnavailable: the broker does not answer.
    """
    ends = log_ends(admin, (topic,))
    return spelled(ends, number_logs(conn, ends))


def passed(conn: psycopg.Connection, admin: Admin, consumer: str, ends: Mapping[str, int]) -> bool:
    """Tell whether a consumer has stored and published all that lies before these ends.

    Raises:
        PartUnavailable: the broker does not answer.
    """
    topics: dict[int, str] = dict(conn.execute(_TOPICS).fetchall())
    stored = {(log, part): at for log, part, at in conn.execute(_STORED, (consumer,)).fetchall()}
    committed = group_positions(admin, group_id(consumer))
    for place, end in ends.items():
        log, part = (int(number) for number in place.split("/"))
        reached = min(stored.get((log, part), 0), committed.get((topics.get(log, ""), part), 0))
        if reached < end:
            return False
    return True


_TOPICS = "SELECT no, topic FROM logs"
_STORED = "SELECT log, part, next FROM positions WHERE consumer = %s"
