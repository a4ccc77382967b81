"""Reading single records by position: for redriving and for showing dead letters."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas.errors import PartUnavailable
from schemas.settings import Settings
from streams.client import common, unavailable

_ABSENT = (
    KafkaError._PARTITION_EOF,  # noqa: SLF001 - librdkafka's names
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
)


class Reader:
    """A client without a group; a context that closes it."""

    def __init__(self, settings: Settings) -> None:
        """Make the client; it connects with the first reading."""
        self._consumer = Consumer(
            common(settings, "reader")
            | {
                # Required by the client, never joined nor committed to.
                "group.id": "obelus-reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "queued.min.messages": 1,
            }
        )

    def __enter__(self) -> Reader:
        """Give itself."""
        return self

    def __exit__(self, *_: Any) -> None:
        """Close the client."""
        self._consumer.close()

    def at(self, topic: str, part: int, offset: int, timeout: float = 10.0) -> Message | None:
        """Read the record at a position; None where the log no longer has one there.

        Raises:
            PartUnavailable: no answer in time.
        """
        deadline = time.monotonic() + timeout
        try:
            self._consumer.assign([TopicPartition(topic, part, offset)])
            while time.monotonic() < deadline:
                item = self._consumer.poll(0.1)
                if item is None:
                    continue
                error = item.error()
                if error is None:
                    return item if item.offset() == offset else None
                if error.code() in _ABSENT:
                    return None
            raise PartUnavailable("kafka: no answer to a reading")
        except KafkaException as error:
            raise unavailable(error) from error
        finally:
            self._consumer.unassign()
