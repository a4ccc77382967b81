"""Extractor and gate as processes on the real log: bad input, and no content in anything that we write."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from confluent_kafka import Consumer

from schemas.settings import Settings
from schemas.topics import CANDIDATES, DECISIONS, TURNS
from streams.codec import Message
from streams.producer import publish

pytestmark = pytest.mark.integration
TURN, CONTROL = "org.obelus.turn.v1", "org.obelus.control.v1"
CANARIES = ("CANARYTENANT", "CANARYSUBJECT", "CANARYAUTHOR", "CANARYCONV", "CANARYMSG", "CANARYTEXT", "CANARYREQ")


@contextmanager
def running(name: str, settings: Settings, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a consumer as its own process; it must end cleanly."""
    given = ("home", "kafka", "database", "redis", "qdrant", "embeddings", "turns_log")
    env = os.environ | {f"OBELUS_{field.upper()}": str(getattr(settings, field)) for field in given}
    code = f"import sys, schemas.settings as s, consumers.{name} as c; sys.exit(c.main(s.Settings()))"
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", code], env=env, stderr=output, stdout=output)
        try:
            yield process
        finally:
            process.terminate()
            assert process.wait(60) == 0, log.read_text()


def event(name: str, body: Any, key: str = "k") -> Message:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return Message(TURNS, key, name, os.urandom(8).hex(), data)


def turn(text: str, message_id: str, **fields: Any) -> Message:
    body = {
        "tenant": "CANARYTENANT",
        "subject": "CANARYSUBJECT",
        "conversation": "CANARYCONV",
        "message_id": message_id,
        "role": "user",
        "text": text,
        "at": datetime.now(UTC),
    } | fields
    return event(TURN, {name: item for name, item in body.items() if item is not None}, "CANARYTENANT:CANARYSUBJECT")


def wait_for(settings: Settings, sql: str, wanted: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    with psycopg.connect(settings.database, autocommit=True) as connection:
        while (found := connection.execute(sql).fetchone()[0]) < wanted:  # type: ignore[index, call-overload]
            assert time.monotonic() < deadline, f"{found} of {wanted}: {sql}"
            time.sleep(0.05)


def read_all(settings: Settings, topics: list[str]) -> list[tuple[str, bytes]]:
    """Every record of topics, as bytes: key, headers and value."""
    config = {"bootstrap.servers": settings.kafka, "group.id": "reader", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "enable.partition.eof": True})
    found, ended = [], set[tuple[str, int]]()
    consumer.subscribe(topics)
    while len(ended) < 4 * len(topics):
        record = consumer.poll(5)
        assert record is not None
        place = record.topic() or "", record.partition() or 0
        if record.error():
            ended.add(place)
            continue
        found.append((place[0], repr((record.key(), record.headers())).encode() + bytes(record.value() or b"")))
    consumer.close()
    return found


@pytest.mark.slow
def test_from_turns_to_decisions(fresh_settings: Settings, topics: None, tmp_path: Path) -> None:
    settings = fresh_settings
    bad: dict[str, Message] = {
        "not_json": event(TURN, b"CANARYTEXT{"),
        "unknown_type": event("org.obelus.CANARYTEXT.v1", {}),
        "unknown_version": event("org.obelus.turn.v7", {}),
        "missing_field": turn("CANARYTEXT", "CANARYMSG", tenant=None),
        "text_too_large": turn("CANARYTEXT" * 110_000, "CANARYMSG"),
        "empty_text": turn("  ", "CANARYMSG"),
        "invalid_id": turn("CANARYTEXT", "CANARYMSG*"),
        "future_time": turn("CANARYTEXT", "CANARYMSG", at=datetime.now(UTC) + timedelta(days=3)),
    }
    order = {"tenant": "CANARYTENANT", "subject": "CANARYSUBJECT", "request_id": "CANARYREQ", "actor": "person"}
    good = [
        turn("Please remember that I prefer CANARYTEXT tea.", "CANARYMSG1"),
        turn("Please remember that I prefer CANARYTEXT jazz.", "CANARYMSG2", author="CANARYAUTHOR"),
        turn("CANARYTEXT in other words", "CANARYMSG1"),
        event(CONTROL, {**order, "action": "pause", "at": datetime.now(UTC)}, "CANARYTENANT:CANARYSUBJECT"),
        turn("Please remember that I prefer CANARYTEXT coffee.", "CANARYMSG3"),
    ]
    huge = turn("CANARYTEXT" * 1_500_000, "CANARYMSG9")
    with ExitStack() as stack:
        for name in ("extractor", "gate"):
            stack.enter_context(running(name, settings, tmp_path / f"{name}.log"))
        publish(settings, [*bad.values(), huge, *good])
        wait_for(settings, "SELECT count(*) FROM refusals", 1)
        wait_for(settings, "SELECT count(*) FROM dead_letters WHERE consumer = 'extractor'", len(bad) + 2)
        # Everything again: nothing is added.
        publish(settings, good)
        wait_for(settings, "SELECT count(*) FROM dead_letters WHERE reason = 'id_conflict'", 2)
        wait_for(settings, "SELECT count(*) FROM decisions", 2)
    with psycopg.connect(settings.database) as connection:

        def rows(sql: str) -> list[Any]:
            return connection.execute(sql).fetchall()  # type: ignore[call-overload]

        letters = rows("SELECT reason FROM dead_letters ORDER BY reason")
        assert [reason for (reason,) in letters] == sorted([*bad, "text_too_large", "id_conflict", "id_conflict"])
        assert rows("SELECT count(*) FROM turns") == [(2,)]
        assert rows("SELECT count(*), min(outcome) FROM refusals") == [(1, "not_permitted")]
        candidates = {row[0].hex() for row in rows("SELECT id FROM candidates")}
        assert {row[0].hex() for row in rows("SELECT candidate FROM decisions")} == candidates
        kept = repr([rows(f"SELECT * FROM {table}") for table in ("dead_letters", "outbox", "decisions", "refusals")])
    ours = read_all(settings, [CANDIDATES, DECISIONS])
    assert {topic for topic, _ in ours} == {CANDIDATES, DECISIONS}
    told = b"".join(record for _, record in ours)
    logs = "".join((tmp_path / f"{name}.log").read_text() for name in ("extractor", "gate"))
    for canary in CANARIES:
        assert canary not in kept
        assert canary.encode() not in told
        assert canary not in logs
