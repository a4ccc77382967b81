"""What every Kafka client of ours is told."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

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
        "error_cb": report,
    }


class Admin(AdminClient):
    """An admin client that can also read what groups have committed.

    librdkafka's own admin call for that (`list_consumer_group_offsets`, seen in 2.16.0) ends the process
    with a segmentation fault where the group's coordinator is just loading or has moved: the answer's
    handler asks the client's group for another coordinator, and an admin client has none. A consumer
    that never joins asks the same question and has one.

    Close it, or use it as a context. Its operations leave it in a cycle, and a collector that happens to run in one
    of its own callbacks ends the process: librdkafka aborts where a client is destroyed from its own thread.
    """

    def __init__(self, settings: Settings, name: str = "admin") -> None:
        """Make the client; it connects when something is asked."""
        super().__init__(common(settings, name))
        self._settings = settings
        self._members: dict[str, Consumer] = {}

    def close(self) -> None:
        """End its threads and connections; nothing may be asked afterwards, and closing again does nothing."""
        for member in self._members.values():
            member.close()
        self._members.clear()
        super().__exit__(None, None, None)

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def committed(self, group: str, places: Iterable[tuple[str, int]], timeout: float) -> dict[tuple[str, int], int]:
        """Give the committed offsets of a group; a partition without one is absent.

        Open transactions are not waited for: what is not committed is not committed.

        Raises:
            PartUnavailable: no answer in time.
        """
        asked = [TopicPartition(topic, part) for topic, part in places]
        try:
            found = self._member(group).committed(asked, timeout=timeout) if asked else []
        except KafkaException as error:
            raise unavailable(error) from error
        refused = next((at.error for at in found if at.error), None)
        if refused is not None:
            raise PartUnavailable(f"kafka: {refused.name()}")
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def _member(self, group: str) -> Consumer:
        if group not in self._members:
            config = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
            self._members[group] = Consumer(common(self._settings, "onlooker") | config)
        return self._members[group]


def report(error: KafkaError) -> None:
    """Log an error of a connection."""
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
