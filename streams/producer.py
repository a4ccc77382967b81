"""Writing to the log: one producer for transactions, one for everybody who only publishes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered

from schemas.errors import PartUnavailable
from schemas.settings import Settings
from schemas.topics import MAX_MESSAGE_BYTES
from streams.client import common, report, unavailable
from streams.codec import Message

TRANSACTION_TIMEOUT_MS = 10_000
"""A dead producer's open transaction stalls readers this long, if its slot is not taken up."""
_DELIVERY_S = 30.0


def producer_config(settings: Settings, name: str) -> dict[str, Any]:
    """Settings of any producer: idempotent, Java's partitioner, as large as the topic allows."""
    return common(settings, name) | {
        # librdkafka's own default would put a key elsewhere than every Java client does.
        "partitioner": "murmur2_random",
        "enable.idempotence": True,
        # The limit is on the value; key and headers come on top.
        "message.max.bytes": MAX_MESSAGE_BYTES + 65_536,
        "linger.ms": 1,
        # A transaction that follows closely on another is told to come back; the default of
        # 100 ms made one transaction take 115 ms instead of 5.
        "retry.backoff.ms": 5,
        "retry.backoff.max.ms": 500,
    }


def transactional(
    settings: Settings, name: str, transactional_id: str, lost: Callable[[], None] = lambda: None
) -> Producer:
    """Make a producer for transactions; ``init_transactions`` is the caller's.

    ``lost`` is called, from within a call of the producer, where no broker can be reached.
    """

    def failed(error: KafkaError) -> None:
        report(error)
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            lost()

    config = producer_config(settings, name)
    config["error_cb"] = failed
    config["transactional.id"] = transactional_id
    config["transaction.timeout.ms"] = TRANSACTION_TIMEOUT_MS
    return Producer(config)


def produce(producer: Producer, item: Message) -> None:
    """Hand one record to the client, waiting where its buffer is full."""
    while True:
        try:
            producer.produce(item.topic, item.body, key=item.key, headers=item.headers)
            return
        except BufferError:
            producer.poll(0.05)


class Publisher:
    """Publishes and waits for the broker's word; one may be shared by threads."""

    def __init__(self, settings: Settings, name: str = "publisher") -> None:
        """Make the client; it connects when something is sent."""
        config = producer_config(settings, name)
        config["delivery.timeout.ms"] = int(_DELIVERY_S * 1000)
        self._producer = Producer(config)

    def send(self, messages: Iterable[Message]) -> int:
        """Publish all and give how many.

        Raises:
            PartUnavailable: one of them was not taken; others may have been.
        """
        failed: list[KafkaError] = []
        left = threading.Semaphore(0)

        def delivered(error: KafkaError | None, _: Delivered) -> None:
            if error is not None:
                failed.append(error)
            left.release()

        count = 0
        try:
            for item in messages:
                self._hand_over(item, delivered)
                count += 1
        except KafkaException as error:
            raise unavailable(error) from None
        for _ in range(count):
            while not left.acquire(blocking=False):
                self._producer.poll(0.05)
        if failed:
            raise PartUnavailable(f"kafka: {failed[0].name()} for {len(failed)} of {count} records")
        return count

    def _hand_over(self, item: Message, delivered: Any) -> None:
        while True:
            try:
                self._producer.produce(
                    item.topic,
                    item.body,
                    key=item.key,
                    headers=item.headers,
                    on_delivery=delivered,
                )
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.05)

    def close(self) -> None:
        """Wait briefly for what is still under way."""
        self._producer.flush(5)


def publish(settings: Settings, messages: Iterable[Message]) -> int:
    """Publish all with a producer made for it, and give how many.

    Raises:
        PartUnavailable: the broker did not take one of them.
    """
    return Publisher(settings).send(messages)
