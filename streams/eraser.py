"""The inbound logs: what others wrote lies there until their retention ends it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from schemas import datamap
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.words import LineStatus, Property
from streams.client import unavailable

_TIMEOUT_SECONDS = 5.0


class LogsEraser:
    """Fenced at once; bytes expire by the topic's real retention, whose date is told."""

    name = "logs"
    version = "1"

    def __init__(self, admin: AdminClient) -> None:
        """Take an admin client."""
        self._admin = admin
        self._entries = datamap.of(self.name)

    def properties(self) -> Properties:
        """Records stay until their segment is old enough."""
        can = frozenset({Property.FENCED, Property.EXPIRED})
        return Properties(can, frozenset({Property.FENCED}))

    def plan(self, scope: Scope) -> Plan:
        """A log cannot be asked for one subject's records: nothing is counted."""
        return Plan(scope, {entry.name: 0 for entry in self._entries})

    def erase(self, plan: Plan) -> None:
        """Nothing to do: the broker's retention does it."""

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Read each topic's retention from the broker, and date its end from the block."""
        kept = self._kept_for()
        since = scope.blocked_at or datetime.now(UTC)
        return [self._seen(entry.name, since, kept.get(entry.place)) for entry in self._entries]

    def _seen(self, entry: str, since: datetime, kept: timedelta | None) -> Observation:
        if kept is None:
            return Observation(
                entry,
                0,
                frozenset(),
                "the topic keeps its records for ever",
                LineStatus.OPEN,
                reason="unlimited_retention",
            )
        until = since + kept
        if until <= datetime.now(UTC):
            return Observation(
                entry,
                0,
                frozenset({Property.EXPIRED}),
                "retention and roll time of the topic have passed since the block",
                LineStatus.ERASED,
            )
        return Observation(
            entry,
            0,
            frozenset(),
            "readers refuse what lies before the fence; retention read from the broker",
            LineStatus.EXPIRES,
            expires_at=until,
        )

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
                # A segment goes as a whole, when its youngest record is old enough; that one may
                # be a whole roll time younger than ours.
                total = timedelta(milliseconds=retention + roll + lag)
                found[resource.name] = total if retention >= 0 else None
        except KafkaException as error:
            raise unavailable(error) from error
        return found
