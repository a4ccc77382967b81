"""What every Kafka client of ours is told."""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from schemas.errors import PartUnavailable
from schemas.settings import Settings

logger = logging.getLogger(__name__)


def common(settings: Settings, name: str) -> dict[str, Any]:
    """Settings that consumers, producers and admin clients share."""
    return {
        "bootstrap.servers": settings.kafka,
        "client.id": f"obelus-{name}",
        # Small requests answer each other; waiting to fill a packet costs up to 40 ms.
        "socket.nagle.disable": True,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 2000,
        "log.connection.close": False,
        # Its log goes to standard error line by line while a broker is away; errors come here too.
        "log_level": 2,
        "error_cb": _report,
    }


def _report(error: KafkaError) -> None:
    logger.warning("kafka: %s", error.name())


def unavailable(error: KafkaException) -> PartUnavailable:
    """Make the error of ours, with the code's name only: Kafka's text may quote a key."""
    return PartUnavailable(f"kafka: {code(error)}")


def code(error: KafkaException) -> str:
    """Name what happened."""
    return detail(error).name()


def detail(error: KafkaException) -> KafkaError:
    """Give the error object inside the exception."""
    found = error.args[0]
    return found if isinstance(found, KafkaError) else KafkaError(KafkaError._FAIL)  # noqa: SLF001
