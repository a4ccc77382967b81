"""Where logs begin and end, how far consumers are, and what is left between.

A consumer is as far as the lesser of two positions: the stored one (its rows are there) and the
committed one (its messages are out). Positions are read before ends, so that no lag anywhere means
that at one moment nothing was under way between the topics.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import psycopg
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    OffsetSpec,
)

from schemas.errors import PartUnavailable
from streams.client import Admin, detail, unavailable
from streams.topics import SUBSCRIPTIONS, describing

_STORED = """
SELECT p.consumer, l.topic, p.part, p.next
FROM positions p JOIN logs l ON l.no = p.log
WHERE l.topic_id = ANY(%s)
"""


class LogEnd(NamedTuple):
    """One partition: the log's id, its first offset still there, the offset after its last."""

    topic: str
    topic_id: str
    part: int
    low: int
    high: int


Place = tuple[str, int]
"""Topic and partition."""


def group_id(consumer: str) -> str:
    """Name the Kafka group of a consumer."""
    return f"obelus-{consumer}"


def log_ends(admin: AdminClient, topics: Iterable[str], timeout: float = 10.0, *, begins: bool = True) -> list[LogEnd]:
    """Read the watermarks of every partition of these topics, in (topic, partition) order.

    Open transactions count: ``high`` is the end for writers, not for readers of committed records.

    Args:
        admin: an admin client.
        topics: names; one that does not exist is left out.
        timeout: seconds for each of three requests.
        begins: False leaves out the question where logs begin; ``low`` is 0 then.

    Raises:
        PartUnavailable: no answer in time.
    """
    wanted, deadline = list(topics), time.monotonic() + timeout
    while True:
        try:
            return _log_ends(admin, wanted, timeout, begins)
        except KafkaException as error:
            if detail(error).code() not in _MOVING or time.monotonic() > deadline:
                raise unavailable(error) from error
        except KeyError:
            # One of several answers already knew, or still knew, a topic that has just come or gone.
            if time.monotonic() > deadline:
                raise PartUnavailable("kafka: topics are coming or going") from None
        time.sleep(0.02)


_MOVING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
    }
)
"""Answers of a broker whose partition has just come, gone or moved; the next metadata knows better."""


def _log_ends(admin: AdminClient, topics: list[str], timeout: float, begins: bool) -> list[LogEnd]:
    """Ask for everything at once: a Block waits for this with the subject's lock held."""
    answer = describing(admin, topics)
    guess = _KNOWN.get(admin, {}).get(tuple(topics), [])
    asked = _ask_all(admin, guess, timeout, begins)
    found = answer()
    places = [(name, part) for name, (_, parts) in found.items() for part in parts]
    if places != guess:
        asked = _ask_all(admin, places, timeout, begins)
        _KNOWN.setdefault(admin, {})[tuple(topics)] = places
    high = _told(asked[0], timeout)
    low = _told(asked[1], timeout) if begins else dict.fromkeys(places, 0)
    return sorted(LogEnd(name, found[name][0], part, low[name, part], high[name, part]) for name, part in places)


_KNOWN: WeakKeyDictionary[AdminClient, dict[tuple[str, ...], list[Place]]] = WeakKeyDictionary()
"""Which partitions there were when a client last asked; only a guess at what to ask for next time."""


def _ask_all(admin: AdminClient, places: list[Place], timeout: float, begins: bool) -> list[Asked]:
    """Ask where each place ends and, where wanted, where it begins."""
    specs = [OffsetSpec.latest(), *([OffsetSpec.earliest()] if begins else [])]  # type: ignore[no-untyped-call]
    return [_ask(admin, places, spec, timeout) for spec in specs]


Asked = Mapping[TopicPartition, "Future[Any]"]


def _ask(admin: AdminClient, places: list[Place], spec: OffsetSpec, timeout: float) -> Asked:
    asked = {TopicPartition(name, part): spec for name, part in places}
    return admin.list_offsets(asked, request_timeout=timeout) if asked else {}


def _told(answers: Asked, timeout: float) -> dict[Place, int]:
    return {(at.topic, at.partition): future.result(timeout).offset for at, future in answers.items()}


def group_positions(admin: Admin, group: str, timeout: float = 10.0) -> dict[Place, int]:
    """Read the offsets that a group has committed, on any topic; a partition without one is absent.

    Raises:
        PartUnavailable: no answer in time.
    """
    try:
        known = admin.list_topics(timeout=timeout).topics
    except KafkaException as error:
        raise unavailable(error) from error
    places = [(name, part) for name in known if not name.startswith("__") for part in known[name].partitions]
    return admin.committed(group, places, timeout)


def stored_positions(connection: psycopg.Connection, ends: Iterable[LogEnd]) -> dict[str, dict[Place, int]]:
    """Read the positions in PostgreSQL, by consumer, of the logs that exist now."""
    ids = sorted({end.topic_id for end in ends})
    found: dict[str, dict[Place, int]] = {}
    for consumer, topic, part, following in connection.execute(_STORED, (ids,)):
        found.setdefault(consumer, {})[topic, part] = following
    return found


def lag(
    admin: Admin,
    connection: psycopg.Connection,
    subscriptions: Mapping[str, Iterable[str]] = SUBSCRIPTIONS,
) -> dict[str, dict[str, int]]:
    """Count, by consumer and topic, the offsets not yet both stored and published.

    Args:
        admin: an admin client.
        connection: to the truth; only read.
        subscriptions: consumers and their topics.

    Raises:
        PartUnavailable: the broker does not answer.
    """
    topics = sorted({topic for names in subscriptions.values() for topic in names})
    known = log_ends(admin, topics)
    stored = stored_positions(connection, known)
    committed = {name: group_positions(admin, group_id(name)) for name in subscriptions}
    ends = log_ends(admin, topics)
    return {
        name: behind(ends, set(wanted), stored.get(name, {}), committed[name]) for name, wanted in subscriptions.items()
    }


def behind(
    ends: Iterable[LogEnd],
    topics: set[str],
    stored: Mapping[Place, int],
    committed: Mapping[Place, int],
) -> dict[str, int]:
    """Add up, by topic, what lies between a consumer's position and the ends."""
    left = dict.fromkeys(topics, 0)
    for end in ends:
        if end.topic in topics:
            place = (end.topic, end.part)
            reached = min(stored.get(place, end.low), committed.get(place, end.low))
            left[end.topic] += max(0, end.high - max(reached, end.low))
    return left
