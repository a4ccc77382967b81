"""Rolling: making the broker close the segment that it writes to.

``segment.ms`` is small only while markers are appended. Small for good, it would give a busy
partition a file a second, 600,000 of them in the seven days that a log is kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from schemas.settings import Settings
from schemas.topics import BY_NAME
from streams.client import code, unavailable
from streams.marker import append
from streams.offsets import Place

logger = logging.getLogger(__name__)

ROLL_MS = 1000
"""A marker closes a segment that is older than this. Not less: while it is left so, by a process that was
killed here, a busy partition makes a file that often."""

_NAME = "segment.ms"
_TIMEOUT_SECONDS = 5.0
_TAKES_SECONDS, _PAUSE_SECONDS = 2.0, 0.05
"""A change is answered once the controller has it; the broker follows a moment later, and its logs after that."""


def roll(settings: Settings, admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Append a marker to each partition and give their offsets; a segment older than `ROLL_MS` ends before it.

    Raises:
        PartUnavailable: the broker does not answer.
    """
    wanted = sorted(places)
    before = _read(admin, {topic for topic, _ in wanted})
    try:
        _set(admin, dict.fromkeys(before, ROLL_MS))
        _await(admin, before)
        return append(settings, wanted)
    finally:
        _set(admin, before)


def restore(admin: AdminClient, topics: Iterable[str]) -> None:
    """Undo what a process that was killed while rolling has left.

    Raises:
        PartUnavailable: the broker does not answer.
    """
    names = set(topics)
    left = {name for name, found in _raw(admin, names).items() if found == ROLL_MS}
    _set(admin, {name: _declared(name) for name in left})


def _read(admin: AdminClient, topics: Iterable[str]) -> dict[str, int]:
    found = _raw(admin, topics)
    return {name: _declared(name) if value == ROLL_MS else value for name, value in found.items()}


def _await(admin: AdminClient, topics: Iterable[str]) -> None:
    """Wait until the broker has the change; where it may not be made, that never comes and is not waited for long."""
    deadline = time.monotonic() + _TAKES_SECONDS
    while any(value != ROLL_MS for value in _raw(admin, topics).values()) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    time.sleep(_PAUSE_SECONDS)


def _declared(topic: str) -> int:
    return int(BY_NAME[topic].config[_NAME])


def _raw(admin: AdminClient, topics: Iterable[str]) -> dict[str, int]:
    asked = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(topics)]
    try:
        futures = admin.describe_configs(asked, request_timeout=_TIMEOUT_SECONDS) if asked else {}
        return {at.name: int(future.result(_TIMEOUT_SECONDS)[_NAME].value) for at, future in futures.items()}
    except KafkaException as error:
        raise unavailable(error) from error


def _set(admin: AdminClient, values: Mapping[str, int]) -> None:
    """Change the topics' setting; where that is not allowed, markers roll by the setting that is there."""
    resources = [
        ConfigResource(
            ResourceType.TOPIC,
            name,
            incremental_configs=[ConfigEntry(_NAME, str(value), incremental_operation=AlterConfigOpType.SET)],
        )
        for name, value in sorted(values.items())
    ]
    if not resources:
        return
    for future in admin.incremental_alter_configs(resources, request_timeout=_TIMEOUT_SECONDS).values():
        try:
            future.result(_TIMEOUT_SECONDS)
        except KafkaException as error:
            logger.warning("kafka: segment.ms was not changed: %s", code(error))
