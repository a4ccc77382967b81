"""The inbound logs: what others wrote lies there until retention ends it, or until Obelus may cut it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType
from redis import Redis

from schemas import datamap
from schemas.datamap import Entry
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.settings import Settings
from schemas.topics import BY_NAME
from schemas.words import LineStatus, Property
from stores.database import Connection
from streams.client import Admin, unavailable
from streams.cutter import Cutter, Stretch, reason_of, told
from streams.holders import Backups, Holders, no_backups

_TIMEOUT_SECONDS = 5.0
_FRESH_SECONDS = 60.0
"""So long what was read of a topic's retention does for a date that the next receipt makes good anyway."""
_SETTLE = timedelta(seconds=1)
"""A cut waits so long after the block: readers pass the fence meanwhile, the segment before it grows old
enough to be closed (`streams.rolling.ROLL_MS`), and erasures that come together share one cut."""


class LogsEraser:
    """Fenced at once; then cut where Obelus is the only reader, else left to the topic's real retention."""

    name = "logs"
    version = "2"

    def __init__(self, admin: Admin, cutter: Cutter | None = None) -> None:
        """Take an admin client, and what cuts; None where others read these logs too."""
        self._admin = admin
        self._cutter = cutter
        self._entries = datamap.of(self.name)
        self._read: tuple[float, dict[str, timedelta | None]] = (-math.inf, {})

    @classmethod
    def of(
        cls,
        settings: Settings,
        admin: Admin,
        connection: Callable[[], Connection],
        redis: Redis,
        backups: Backups = no_backups,
    ) -> LogsEraser:
        """Make the one for ``OBELUS_TURNS_LOG``."""
        if settings.turns_log == "shared":
            return cls(admin)
        return cls(admin, Cutter(settings, admin, connection, Holders(admin, connection, redis, backups)))

    def properties(self) -> Properties:
        """Records stay until their segment is old enough, or, cut, as long as the broker needs to remove it."""
        can = {Property.FENCED, Property.EXPIRED}
        if self._cutter is None:
            return Properties(frozenset(can), frozenset({Property.FENCED}))
        can |= {Property.ABSENT, Property.COMPACTED}
        return Properties(frozenset(can), frozenset({Property.FENCED, Property.ABSENT}))

    def plan(self, scope: Scope) -> Plan:
        """Count what lies below the fence, whoever's: a log cannot be asked for one subject's records.

        Where it is not cut, and before there is a fence, nothing is counted.
        """
        counts = {entry.name: 0 for entry in self._entries}
        if self._cutter is not None and scope.fence and _settled(scope):
            stretches = self._cutter.look(scope.fence)
            counts = {entry.name: _left(_of(entry, stretches)) for entry in self._entries}
        return Plan(scope, counts)

    def erase(self, plan: Plan) -> None:
        """Cut as far as everybody allows, once the block has settled; retention does the rest."""
        scope = plan.scope
        if self._cutter is not None and scope.fence and _settled(scope):
            self._cutter.cut(scope.fence)

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Ask each log where it begins and look at its files; where that does not do, date its end."""
        since = scope.blocked_at or datetime.now(UTC)
        if self._cutter is not None and scope.fence and not _settled(scope):
            # The first receipt does not wait for a cut: it dates these lines, and the next one says that they went.
            kept = self._kept_lately()
            return [self._soon(_dated(entry, since, kept.get(entry.place))) for entry in self._entries]
        kept = self._kept_for()
        stretches = self._cutter.look(scope.fence) if self._cutter is not None and scope.fence else None
        seen = []
        for entry in self._entries:
            dated = _dated(entry, since, kept.get(entry.place))
            own = None if stretches is None else _of(entry, stretches)
            seen.append(dated if own is None else self._cut(entry, own, dated))
        return seen

    @staticmethod
    def _soon(dated: Observation) -> Observation:
        """A line that will rise as soon as the block has settled."""
        return replace(dated, targets=frozenset({Property.ABSENT}))

    def _cut(self, entry: Entry, stretches: Sequence[Stretch], dated: Observation) -> Observation:
        """Say how far one topic is cut; ``dated`` is what holds where it is not."""
        assert self._cutter is not None  # noqa: S101 - there are stretches only where it is
        files = self._cutter.files() is not None
        targets = frozenset({Property.ABSENT, Property.COMPACTED} if files else {Property.ABSENT})
        left = _left(stretches)
        if left and dated.status is not LineStatus.EXPIRES:
            return Observation(
                entry.name, left, frozenset(), "the log begins below the fence", LineStatus.OPEN, reason=dated.reason
            )
        if left:
            holders = self._cutter.holding(stretches)
            return Observation(
                entry.name,
                left,
                frozenset(),
                f"{told(holders)}; else retention read from the broker",
                LineStatus.EXPIRES,
                expires_at=dated.expires_at,
                reason=reason_of(holders),
                targets=targets,
            )
        clean = all(stretch.clean for stretch in stretches)
        method = "every partition's low watermark is at or above the fence"
        if files:
            below = "no segment file holds" if clean else "segment files on their way out still hold"
            method += f"; {below} an offset below it"
        proven = targets if clean else frozenset({Property.ABSENT})
        # An erasure shortly before may have cut it for this one too, so what was counted does not say.
        status = LineStatus.ERASED if any(stretch.fence for stretch in stretches) else None
        return Observation(entry.name, 0, proven, method, status, targets=targets)

    def _kept_lately(self) -> dict[str, timedelta | None]:
        at, kept = self._read
        return kept if time.monotonic() - at < _FRESH_SECONDS else self._kept_for()

    def _kept_for(self) -> dict[str, timedelta | None]:
        """How long after being written a record can still be there; None for ever."""
        wanted = [ConfigResource(ResourceType.TOPIC, entry.place) for entry in self._entries]
        found: dict[str, timedelta | None] = {}
        try:
            futures = self._admin.describe_configs(wanted, request_timeout=_TIMEOUT_SECONDS)
            for resource, future in futures.items():
                config = future.result(_TIMEOUT_SECONDS)
                retention, roll, lag = (
                    int(config[name].value) for name in ("retention.ms", "segment.ms", "file.delete.delay.ms")
                )
                # While a marker is appended the roll time is small; what counts is the one before and after.
                roll = max(roll, int(BY_NAME[resource.name].config["segment.ms"]))
                # A segment goes as a whole, when its youngest record is old enough; that one may
                # be a whole roll time younger than ours.
                total = timedelta(milliseconds=retention + roll + lag)
                found[resource.name] = total if retention >= 0 else None
        except KafkaException as error:
            raise unavailable(error) from error
        self._read = (time.monotonic(), found)
        return found


def _dated(entry: Entry, since: datetime, kept: timedelta | None) -> Observation:
    if kept is None:
        method, reason = "the topic keeps its records for ever", "unlimited_retention"
        return Observation(entry.name, 0, frozenset(), method, LineStatus.OPEN, reason=reason)
    until = since + kept
    if until <= datetime.now(UTC):
        method = "retention and roll time of the topic have passed since the block"
        return Observation(entry.name, 0, frozenset({Property.EXPIRED}), method, LineStatus.ERASED)
    method = "readers refuse what lies before the fence; retention read from the broker"
    return Observation(entry.name, 0, frozenset(), method, LineStatus.EXPIRES, expires_at=until)


def _settled(scope: Scope) -> bool:
    return scope.blocked_at is not None and datetime.now(UTC) - scope.blocked_at >= _SETTLE


def _of(entry: Entry, stretches: Iterable[Stretch]) -> list[Stretch]:
    return [stretch for stretch in stretches if stretch.end.topic == entry.place]


def _left(stretches: Iterable[Stretch]) -> int:
    return sum(stretch.left for stretch in stretches)
