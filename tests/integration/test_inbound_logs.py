"""Inbound logs cut behind a fence: how far, by whose leave, and what proves it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import ConfigResource, ResourceType

from consumers import deadletters
from deploy.audit.forms import forms
from deploy.audit.scan import scan
from schemas.settings import Settings
from schemas.topics import DAY_MS, TURNS
from schemas.words import LineStatus, Property
from streams import rolling
from streams.marker import append
from streams.offsets import group_positions
from streams.reading import Reader
from tests.chaos.harness import Process, obelus_run, until
from tests.logs import Logs
from tests.stack import Stack

pytestmark = pytest.mark.integration

ABSENT, COMPACTED = Property.ABSENT, Property.COMPACTED


@pytest.fixture
def logs(fresh_settings: Settings, topics: None) -> Iterator[Logs]:
    found = Logs(fresh_settings)
    yield found
    for listed in found.admin.list_consumer_groups().result().valid:
        found.forget_group(listed.group_id)
    found.close()


def segment_ms(logs: Logs) -> int:
    asked = ConfigResource(ResourceType.TOPIC, TURNS)
    return int(logs.admin.describe_configs([asked])[asked].result()["segment.ms"].value)


def in_kafka(stack: Stack, word: str) -> int:
    return sum(hit.count for hit in scan(stack.settings.home / "kafka", {word: forms(word)}))


def test_what_everybody_has_read_is_gone_from_log_and_disk(logs: Logs, stack: Stack) -> None:
    word = f"canary-{secrets.token_hex(8)}"
    logs.say(*[f"{word} {n}" for n in range(30)])
    time.sleep(1.2)
    logs.read_by("extractor")
    scope = logs.scope()
    fence = logs.busy().high
    before = logs.seen(scope)
    assert (before.status, before.remaining, before.reason) == (LineStatus.EXPIRES, 30, None)
    assert before.targets == {ABSENT, COMPACTED} and before.expires_at is not None
    assert before.expires_at > datetime.now(UTC)

    logs.erase(scope)
    after = logs.seen(scope)
    assert (after.status, after.remaining) == (LineStatus.ERASED, 0) and ABSENT in after.proven
    assert logs.busy().low == fence
    until(lambda: COMPACTED in logs.seen(scope).proven, 8, "files are still there")
    assert in_kafka(stack, word) == 0
    assert segment_ms(logs) == DAY_MS
    # Again is no harm, and adds nothing.
    high = logs.busy().high
    logs.erase(scope)
    assert logs.busy().high == high == fence + 1


def test_a_fresh_block_is_left_to_settle(logs: Logs) -> None:
    logs.say("one", "two")
    logs.read_by("extractor")
    scope = logs.scope(blocked_at=datetime.now(UTC))
    logs.erase(scope)
    assert logs.busy().low == 0


def test_records_after_the_fence_that_nobody_has_read_stay(logs: Logs) -> None:
    logs.say("before", "before too")
    logs.read_by("extractor")
    scope = logs.scope()
    logs.say("after")
    time.sleep(1.1)
    logs.erase(scope)
    assert logs.busy().low == 2
    with Reader(logs.settings) as reader:
        assert reader.at(TURNS, logs.busy().part, 2) is not None
    # The segment that holds both goes once the later record has been read.
    assert COMPACTED not in logs.seen(scope).proven
    logs.read_by("extractor")
    time.sleep(1.1)
    logs.erase(scope)
    until(lambda: COMPACTED in logs.seen(scope).proven, 8)


def test_a_stopped_consumer_holds_its_position_and_is_named(logs: Logs) -> None:
    logs.say(*"abcdefgh")
    logs.read_by("extractor", less=3)
    scope = logs.scope()
    logs.erase(scope)
    seen = logs.seen(scope)
    assert logs.busy().low == 5 and seen.remaining == 3
    assert (seen.status, seen.reason) == (LineStatus.EXPIRES, "idle_group")
    assert "idle group obelus-extractor" in seen.method and seen.expires_at is not None


def test_windows_hold_what_they_have_not_kept(logs: Logs) -> None:
    logs.say(*"abcd")
    logs.read_by("extractor")
    end = logs.busy()
    logs.redis.set(f"position:sessions:{end.topic_id}:{end.part}", "1")
    scope = logs.scope()
    logs.erase(scope)
    assert logs.busy().low == 1
    assert "idle group obelus-sessions" in logs.seen(scope).method


def test_an_open_dead_letter_is_never_cut_and_can_be_read_again(logs: Logs) -> None:
    logs.say(*"abcd")
    logs.read_by("extractor")
    end = logs.busy()
    logs.bury(end, 2)
    scope = logs.scope()
    logs.erase(scope)
    seen = logs.seen(scope)
    assert logs.busy().low == 2 and seen.reason == "open_dead_letter" and seen.remaining == 2
    with Reader(logs.settings) as reader:
        found = reader.at(TURNS, end.part, 2)
    assert found is not None and b'"text":"c"' in (found.value() or b"")
    ids = [letter.id for letter in deadletters.listed(logs.connection)]
    deadletters.discard(logs.connection, ids)
    assert [one.state for one in deadletters.answers(logs.connection, ids)] == ["discarded"]
    assert logs.seen(scope).reason is None
    logs.erase(scope)
    assert logs.seen(scope).remaining == 0


def test_a_strange_group_holds_idle_or_live(logs: Logs) -> None:
    logs.say(*"abcd")
    logs.read_by("extractor")
    logs.commit("old-experiment", less=4)
    scope = logs.scope()
    logs.erase(scope)
    seen = logs.seen(scope)
    assert logs.busy().low == 0 and seen.reason == "idle_group" and "old-experiment" in seen.method
    config: dict[str, Any] = {
        "bootstrap.servers": logs.settings.kafka,
        "group.id": "old-experiment",
        "enable.auto.commit": False,
    }
    reader = Consumer(config)
    reader.subscribe([TURNS])
    until(lambda: reader.poll(0.1) is not None or bool(reader.assignment()), 20, "not assigned")
    live = logs.seen(scope)
    # Somebody who is there only has to come along, so nothing is given up yet.
    assert live.reason is None and "reader on its way old-experiment" in live.method
    logs.erase(scope)
    assert logs.busy().low == 0
    reader.close()
    logs.forget_group("old-experiment")
    logs.erase(scope)
    assert logs.seen(scope).remaining == 0


def test_a_backup_holds(logs: Logs) -> None:
    logs.say(*"abcd")
    logs.read_by("extractor")
    end = logs.busy()
    scope = logs.scope()
    backups = {"backups": lambda _: {(TURNS, end.part): 1}}
    logs.erase(scope, **backups)
    assert logs.busy().low == 1 and logs.seen(scope, **backups).reason == "backup"


def test_a_small_roll_time_that_a_killed_process_left_is_undone(logs: Logs) -> None:
    logs.say("a")
    logs.read_by("extractor")
    rolling._set(logs.admin, {TURNS: rolling.ROLL_MS})
    assert segment_ms(logs) == rolling.ROLL_MS
    kept = logs.seen(logs.scope()).expires_at
    assert kept is not None and (kept - datetime.now(UTC)).days >= 7
    logs.erase(logs.scope())
    assert segment_ms(logs) == DAY_MS


def test_a_shared_log_is_not_touched(logs: Logs) -> None:
    logs.say("a")
    logs.read_by("extractor")
    shared = logs.settings.model_copy(update={"turns_log": "shared"})
    eraser = type(logs.eraser()).of(shared, logs.admin, lambda: logs.connection, logs.redis)
    scope = logs.scope()
    eraser.erase(eraser.plan(scope))
    assert {seen.status for seen in eraser.observe(scope)} == {LineStatus.EXPIRES}
    assert logs.busy().low == 0


def test_consumers_pass_over_markers_and_a_replay_begins_where_the_log_was_cut(logs: Logs) -> None:
    with Process(obelus_run("extractor"), logs.settings) as extractor:
        logs.say("I like tea.")
        part = logs.busy().part
        append(logs.settings, [(TURNS, part)])
        logs.say("I live in Leeds.")

        def through(count: int) -> bool:
            committed = group_positions(logs.admin, "obelus-extractor").get((TURNS, part))
            [(turns, letters)] = logs.connection.execute(
                "SELECT (SELECT count(*) FROM turns), (SELECT count(*) FROM dead_letters)"
            ).fetchall()
            assert letters == 0
            return turns == count and committed == logs.busy().high

        until(lambda: through(2), 60, lambda: extractor.text[-2000:])
        scope = logs.scope()
        time.sleep(1.1)
        logs.erase(scope)
        assert logs.busy().low == 3
        until(lambda: through(2), 20, lambda: extractor.text[-2000:])
        extractor.terminate()
    logs.connection.execute("UPDATE positions SET next = 0")
    with Process(obelus_run("extractor"), logs.settings) as extractor:
        logs.say("I have a dog.")
        until(lambda: through(3), 60, lambda: extractor.text[-2000:])
        assert "is replayed from 3" in extractor.text
        extractor.terminate()
    # A restored backup knows of no cut: what it has not read is lost, and that is said.
    logs.connection.execute("UPDATE positions SET next = 0")
    logs.connection.execute("DELETE FROM log_cuts")
    with Process(obelus_run("extractor"), logs.settings) as extractor:
        assert extractor.wait(60) != 0
        assert "were not read" in extractor.text
