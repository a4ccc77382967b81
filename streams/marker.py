"""Roll markers: records of ours without content, whose only effect is that a new segment begins.

A segment goes from the disk as a whole, the one that is written to never, and a new one begins only
when something is appended (docs/decisions, exclusive turns log). Readers pass over a marker: the
worker's intake drops it, a session window does not know it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered

from schemas.errors import PartUnavailable
from schemas.settings import Settings
from streams.client import unavailable
from streams.codec import MARKER, MARKER_BODY, Message
from streams.offsets import Place
from streams.producer import producer_config

_WITHIN_SECONDS = 5.0


def append(settings: Settings, places: Iterable[Place]) -> dict[Place, int]:
    """Append a marker to each partition and give their offsets.

    Raises:
        PartUnavailable: not all were taken in time; some may have been, which does no harm.
    """
    found: dict[Place, int] = {}

    def delivered(error: KafkaError | None, item: Delivered) -> None:
        if error is None:
            found[item.topic() or "", item.partition() or 0] = item.offset() or 0

    wanted = list(places)
    config = producer_config(settings, "marker") | {"delivery.timeout.ms": int(_WITHIN_SECONDS * 1000)}
    producer = Producer(config)
    try:
        for topic, part in wanted:
            item = Message(topic, "", MARKER, secrets.token_hex(8), MARKER_BODY)
            producer.produce(topic, item.body, partition=part, headers=item.headers, on_delivery=delivered)
        producer.flush(_WITHIN_SECONDS)
    except KafkaException as error:
        raise unavailable(error) from None
    if len(found) < len(wanted):
        raise PartUnavailable(f"kafka: {len(wanted) - len(found)} of {len(wanted)} roll markers were not taken")
    return found
