"""Who still needs what lies in an inbound log; nothing is deleted past the least of these.

    a consumer of ours   the lesser of its stored and its committed position
    session windows      the lesser of the position kept in Redis and the committed one
    any other group      what it has committed; a member's partition without that, all of it
    open dead letters    their own position: redriving reads it again
    a backup             the position from which a restored store would have to read on

A reader that neither joins a group nor commits cannot be seen. That there is none is what
`OBELUS_TURNS_LOG=exclusive` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from redis import Redis

from schemas.topics import TOPICS, TURNS
from stores.database import Connection, translate
from streams.client import Admin, detail, unavailable
from streams.offsets import LogEnd, Place, group_id, group_positions, stored_positions
from streams.sessions.progress import CONSUMER as SESSIONS
from streams.sessions.progress import read_positions
from streams.topics import SUBSCRIPTIONS

_TIMEOUT_SECONDS = 5.0
_INBOUND = frozenset(topic.name for topic in TOPICS if topic.inbound)
_GONE = (KafkaError.GROUP_ID_NOT_FOUND, KafkaError.INVALID_GROUP_ID)
_DEAD_LETTERS = """
SELECT l.topic, d.part, min(d.pos) FROM dead_letters d JOIN logs l ON l.no = d.log
WHERE l.topic_id = ANY(%s) AND d.state = 'open' GROUP BY l.topic, d.part
"""


class Kind(StrEnum):
    """Why a holder holds; for all but a live reader the word is a receipt's reason."""

    READER = "reader"
    IDLE_GROUP = "idle_group"
    DEAD_LETTER = "open_dead_letter"
    BACKUP = "backup"


@dataclass(frozen=True, slots=True)
class Holder:
    """One that needs each of these partitions from an offset on."""

    kind: Kind
    name: str
    needs: Mapping[Place, int]


Backups = Callable[[Iterable[LogEnd]], Mapping[Place, int]]
"""Gives the positions in the oldest backup that may still be restored."""


def no_backups(_: Iterable[LogEnd]) -> Mapping[Place, int]:
    """Nothing registers backups yet."""
    return {}


@dataclass(frozen=True, slots=True)
class Holders:
    """Asks everybody."""

    admin: Admin
    connection: Callable[[], Connection]
    redis: Redis
    backups: Backups = no_backups

    def __call__(self, ends: Sequence[LogEnd]) -> list[Holder]:
        """Give all that is known to need these partitions.

        Raises:
            PartUnavailable: somebody who must be asked does not answer.
        """
        groups = _groups(self.admin)
        with translate():
            connection = self.connection()
            stored = stored_positions(connection, ends)
            letters = connection.execute(_DEAD_LETTERS, ([end.topic_id for end in ends],)).fetchall()
        found = [_ours(name, topics, ends, stored, groups) for name, topics in SUBSCRIPTIONS.items()]
        found.append(self._sessions(ends, groups))
        own = {group_id(name) for name in (*SUBSCRIPTIONS, SESSIONS)}
        found += [group.holder(name, ends) for name, group in groups.items() if name not in own]
        dead = {(topic, part): offset for topic, part, offset in letters}
        found.append(Holder(Kind.DEAD_LETTER, "", dead))
        found.append(Holder(Kind.BACKUP, "", self.backups(ends)))
        return [holder for holder in found if holder.needs]

    def _sessions(self, ends: Sequence[LogEnd], groups: Mapping[str, _Group]) -> Holder:
        turns = [end for end in ends if end.topic == TURNS]
        kept: dict[Place, int] = {}
        for topic_id in {end.topic_id for end in turns}:
            positions = read_positions(self.redis, topic_id, [e.part for e in turns if e.topic_id == topic_id])
            kept |= {(TURNS, part): offset for part, offset in positions.items()}
        name = group_id(SESSIONS)
        group = groups.get(name, _Group())
        needs = dict(group.committed)
        for place, offset in kept.items():
            needs[place] = min(offset, needs.get(place, offset))
        if group.live:
            # It has not begun with these; without members there may be no windows in this deployment.
            needs = {(end.topic, end.part): end.low for end in turns} | needs
        return Holder(group.kind, name, needs)


def limit(holders: Iterable[Holder], place: Place, otherwise: int) -> int:
    """How far a partition may be cut at most."""
    return min((holder.needs[place] for holder in holders if place in holder.needs), default=otherwise)


@dataclass(slots=True)
class _Group:
    live: bool = False
    committed: dict[Place, int] = field(default_factory=dict)
    assigned: set[Place] = field(default_factory=set)

    @property
    def kind(self) -> Kind:
        return Kind.READER if self.live else Kind.IDLE_GROUP

    def holder(self, name: str, ends: Iterable[LogEnd]) -> Holder:
        lows = {(end.topic, end.part): end.low for end in ends}
        unknown = {place: lows[place] for place in self.assigned if place in lows}
        return Holder(self.kind, name, unknown | self.committed)


def _ours(
    name: str,
    topics: Iterable[str],
    ends: Sequence[LogEnd],
    stored: Mapping[str, Mapping[Place, int]],
    groups: Mapping[str, _Group],
) -> Holder:
    own = stored.get(name, {})
    group = groups.get(group_id(name), _Group())
    needs = {}
    for end in ends:
        if end.topic in topics:
            place = (end.topic, end.part)
            reached = own.get(place, end.low)
            needs[place] = min(reached, group.committed.get(place, reached))
    return Holder(group.kind, group_id(name), needs)


def _groups(admin: Admin) -> dict[str, _Group]:
    """Every group with members or offsets that Kafka knows, as far as inbound logs go."""
    try:
        listed = admin.list_consumer_groups(request_timeout=_TIMEOUT_SECONDS).result(_TIMEOUT_SECONDS)
        names = sorted(group.group_id for group in listed.valid)
        if not names:
            return {}
        described = admin.describe_consumer_groups(names, request_timeout=_TIMEOUT_SECONDS)
        return {
            name: _group(_answer(described[name]), group_positions(admin, name, _TIMEOUT_SECONDS)) for name in names
        }
    except KafkaException as error:
        raise unavailable(error) from error


def _group(description: Any, committed: Mapping[Place, int]) -> _Group:
    group = _Group()
    if description is not None:
        group.live = bool(description.members)
        for member in description.members:
            parts = member.assignment.topic_partitions if member.assignment else ()
            group.assigned |= {(at.topic, at.partition) for at in parts if at.topic in _INBOUND}
    group.committed = {place: offset for place, offset in committed.items() if place[0] in _INBOUND}
    return group


def _answer(future: Future[Any]) -> Any:
    """Wait for one answer; None for a group that has gone meanwhile."""
    try:
        return future.result(_TIMEOUT_SECONDS)
    except KafkaException as error:
        if detail(error).code() in _GONE:
            return None
        raise
