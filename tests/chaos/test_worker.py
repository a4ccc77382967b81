"""The worker with a toy consumer: one effect for each record, whatever happens to the process."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import orjson
import pytest
from confluent_kafka import Consumer, TopicPartition

from schemas.settings import Settings
from schemas.topics import CANDIDATES, TURNS
from stores.database import connect
from streams import offsets, topics
from streams.codec import Message
from streams.producer import publish
from tests.chaos.harness import CASES, UNDISTURBED, Case, marked, play

TURNS_FED = 600


def turn(number: int, text: str = "hello", subjects: int = 37) -> Message:
    subject = f"u{number % subjects}"
    body = {
        "tenant": "default",
        "subject": subject,
        "conversation": "c",
        "message_id": f"m{number}",
        "role": "user",
        "text": text,
        "at": "2026-01-01T00:00:00Z",
    }
    return Message(TURNS, f"default:{subject}", "org.obelus.turn.v1", f"m{number}", orjson.dumps(body))


def rows(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    with connect(settings.database, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def published(settings: Settings) -> list[str]:
    """Ids of every committed record on the toy's output, repetitions included."""
    consumer = Consumer(
        {
            "bootstrap.servers": settings.kafka,
            "group.id": "test-reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    parts = consumer.list_topics(CANDIDATES, timeout=10).topics[CANDIDATES].partitions
    consumer.assign([TopicPartition(CANDIDATES, part, 0) for part in parts])
    found, ended = [], set()
    while len(ended) < len(parts):
        item = consumer.poll(1)
        if item is not None and item.error():
            ended.add(item.partition())
        elif item is not None:
            found.append(dict(item.headers())["ce_id"].decode())
    consumer.close()
    return found


class Toy:
    """Feeds the toy; its state is its tables and what it published."""

    argv = (sys.executable, "-m", "tests.chaos.toy")
    variables = {"OBELUS_BATCH": "50"}  # noqa: RUF012

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages = list(messages) or [turn(number) for number in range(TURNS_FED)]

    def feed(self, settings: Settings) -> None:
        publish(settings, self.messages)

    def settled(self, settings: Settings) -> bool:
        with connect(settings.database, autocommit=True) as connection:
            if connection.execute("SELECT to_regclass('toy_settled')").fetchone() == (None,):
                return False
            left = offsets.lag(topics.admin_client(settings), connection, {"toy": [TURNS]})
            waits = connection.execute(
                "SELECT count(*) FROM (SELECT message FROM toy_rows EXCEPT SELECT message FROM toy_settled) x"
            ).fetchone()
            return left["toy"][TURNS] == 0 and waits == (0,)

    def explain(self, settings: Settings) -> str:
        admin = topics.admin_client(settings)
        stored = rows(settings, "SELECT consumer, part, next FROM positions ORDER BY 1, 2")
        committed = offsets.group_positions(admin, offsets.group_id("toy"))
        counts = rows(settings, "SELECT (SELECT count(*) FROM toy_rows), (SELECT count(*) FROM toy_settled)")
        return f"{stored} {committed} {offsets.log_ends(admin, [TURNS])} {counts}"

    def state(self, settings: Settings) -> Any:
        return {
            "sums": rows(settings, "SELECT subject, n FROM toy_sums ORDER BY subject"),
            "rows": rows(settings, "SELECT message FROM toy_rows ORDER BY message"),
            "settled": rows(settings, "SELECT message FROM toy_settled ORDER BY message"),
            "dead": rows(settings, "SELECT part, pos, reason FROM dead_letters ORDER BY 1, 2"),
            "published": sorted(set(published(settings))),
        }


EXPECTED_SUMS = [(f"u{s}", len(range(s, TURNS_FED, 37))) for s in range(37)]


@pytest.mark.integration
@pytest.mark.parametrize("case", marked([UNDISTURBED, *CASES]))
def test_every_record_has_one_effect(case: Case, fresh_settings: Settings, topics: None) -> None:
    state = play(case, Toy(), fresh_settings)
    assert dict(state["sums"]) == dict(EXPECTED_SUMS)
    everything = sorted(f"m{number}" for number in range(TURNS_FED))
    assert [name for (name,) in state["rows"]] == everything
    assert [name for (name,) in state["settled"]] == everything
    assert state["published"] == everything
    assert state["dead"] == []
