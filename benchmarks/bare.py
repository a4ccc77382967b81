"""The bare loop: what Kafka and PostgreSQL alone can do on this machine, the yardstick of every ratio.

Consume 1,000, one binary COPY of five columns, produce with headers, one Kafka transaction with offsets.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import psycopg
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from schemas.settings import Settings

BATCH = 1_000
_HEADERS: list[tuple[str, str | bytes | None]] = [
    ("ce_specversion", "1.0"),
    ("ce_id", "1"),
    ("ce_type", "bare"),
    ("ce_source", "bare"),
]
"""As many as an event of ours has; the turn itself is passed on."""
FLOOR = 20_000
"""Turns per second below which the machine was too busy for the run to count."""


def measure(settings: Settings, payloads: Sequence[bytes]) -> float:
    """Turns per second of the bare loop over ``payloads``, warm-up batch excluded."""
    source, target = "bench.bare.in", "bench.bare.out"
    _recreate(settings, source, target)
    _fill(settings, source, payloads)
    with psycopg.connect(settings.database, autocommit=False) as connection:
        # An ordinary table: what is compared with it has to reach the disk too.
        connection.execute("CREATE TABLE bare (a bytea, b bytea, c int, d bigint, e bytea)")
        connection.commit()
        speed = _loop(settings, connection, source, target, len(payloads))
        # What is measured next must not pay for the vacuum of what was measured here.
        connection.execute("DROP TABLE bare")
        connection.commit()
        connection.autocommit = True
        connection.execute("CHECKPOINT")
    _remove(settings, source, target)
    return speed


def _recreate(settings: Settings, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": settings.kafka})
    for future in admin.create_topics([NewTopic(name, num_partitions=4) for name in names]).values():
        future.result(30)


def _remove(settings: Settings, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": settings.kafka})
    for future in admin.delete_topics(list(names)).values():
        future.result(30)


def _fill(settings: Settings, topic: str, payloads: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": settings.kafka, "linger.ms": 5, "enable.idempotence": True})
    for number, payload in enumerate(payloads):
        producer.produce(topic, payload, key=str(number % 997).encode())
        producer.poll(0)
        if number % 50_000 == 49_999:
            producer.flush()
    producer.flush()


def _loop(settings: Settings, connection: psycopg.Connection, source: str, target: str, total: int) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": settings.kafka,
            "group.id": "bench.bare",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": settings.kafka,
            "transactional.id": "bench.bare",
            "linger.ms": 1,
            "retry.backoff.ms": 5,
        }
    )
    producer.init_transactions(30)
    consumer.subscribe([source])
    done, started, warm = 0, 0.0, 0
    try:
        while done < total:
            batch = consumer.consume(BATCH, timeout=1.0)
            if not batch:
                continue
            _step(connection, consumer, producer, target, batch)
            done += len(batch)
            if not started:
                started, warm = time.perf_counter(), done
        return (done - warm) / (time.perf_counter() - started)
    finally:
        consumer.close()


def _step(
    connection: psycopg.Connection, consumer: Consumer, producer: Producer, target: str, batch: list[Message]
) -> None:
    with connection.cursor() as cursor, cursor.copy("COPY bare FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["bytea", "bytea", "int4", "int8", "bytea"])
        for message in batch:
            copy.write_row((message.key(), b"\0" * 16, message.partition(), message.offset(), message.value()))
    connection.commit()
    producer.begin_transaction()
    for message in batch:
        producer.produce(target, message.value(), key=message.key(), headers=_HEADERS)
    producer.flush()
    producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
    producer.commit_transaction()
