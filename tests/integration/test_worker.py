"""The worker as a process on the real parts, with the toy consumer."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

import orjson
import pytest
from confluent_kafka import TopicPartition

from schemas.settings import Settings
from schemas.topics import TURNS
from stores.database import connect
from streams import offsets
from streams import topics as declared
from streams.codec import Message
from streams.producer import publish
from tests.chaos.harness import Process, environment, until
from tests.chaos.test_worker import Toy, published, rows, turn

pytestmark = pytest.mark.integration

CANARY = "zanzibar-canary-9137"
TOY = Toy()


def start(settings: Settings, **variables: str) -> Process:
    return Process(TOY.argv, settings, **variables)


def settle(settings: Settings, process: Process) -> None:
    until(lambda: TOY.settled(settings), 30, lambda: TOY.explain(settings) + process.text[-3000:])


def dead(settings: Settings) -> list[tuple[Any, ...]]:
    return rows(settings, "SELECT reason, state FROM dead_letters ORDER BY id")


def obelus(settings: Settings, *arguments: str) -> tuple[int, Any]:
    """Run a command as a user would; give status and the JSON document."""
    import os
    import subprocess

    code = "import sys; from deploy.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--json"],
        env=os.environ | environment(settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def raw(body: bytes, name: str = "org.obelus.turn.v1") -> Message:
    return Message(TURNS, "default:u1", name, "x", body)


def test_bad_input_is_a_dead_letter_and_the_next_event_is_processed(fresh_settings: Settings, topics: None) -> None:
    good = orjson.loads(turn(1, CANARY).body)
    bad = {
        "not_json": raw(b"{" + CANARY.encode()),
        "unknown_type": raw(b"{}", f"{CANARY}.v1"),
        "unknown_version": raw(b"{}", "org.obelus.turn.v7"),
        "missing_field": raw(orjson.dumps({k: v for k, v in good.items() if k != "tenant"})),
        "text_too_large": raw(orjson.dumps(good | {"text": "x" * ((16 << 20) - 512)})),
        "empty_text": raw(orjson.dumps(good | {"text": ""})),
        "invalid_id": raw(orjson.dumps(good | {"subject": f"{CANARY}*"})),
        "future_time": raw(orjson.dumps(good | {"at": "2999-01-01T00:00:00Z"})),
        "poisoned": raw(orjson.dumps(good | {"text": "poison"})),
        "internal_error": raw(orjson.dumps(good | {"text": "bug"})),
    }
    feed = [message for one in bad.values() for message in (one, turn(len(one.body), "fine"))]
    with start(fresh_settings) as process:
        publish(fresh_settings, feed)
        settle(fresh_settings, process)
        assert process.terminate() == 0
        assert sorted(reason for reason, _ in dead(fresh_settings)) == sorted(bad)
        assert len(rows(fresh_settings, "SELECT * FROM toy_rows")) == len(bad)
        assert CANARY not in process.text
        assert "my secret text" not in process.text


def test_passing_faults_lose_nothing_and_repeat_nothing(fresh_settings: Settings, topics: None) -> None:
    texts = ["a", "flaky", "moved", "b", "flaky", "c"]
    with start(fresh_settings, OBELUS_BATCH="3") as process:
        publish(fresh_settings, [turn(number, text) for number, text in enumerate(texts)])
        settle(fresh_settings, process)
        assert process.terminate() == 0
    assert rows(fresh_settings, "SELECT sum(n)::int FROM toy_sums") == [(len(texts),)]
    assert sorted(published(fresh_settings)) == [f"m{number}" for number in range(len(texts))]
    assert dead(fresh_settings) == []


def test_a_dead_letter_is_shown_and_redriven_at_its_position(fresh_settings: Settings, topics: None) -> None:
    with start(fresh_settings) as process:
        publish(fresh_settings, [turn(1, "bad"), turn(2)])
        settle(fresh_settings, process)
        [letter] = obelus(fresh_settings, "dead-letters")[1]["dead_letters"]
        assert (letter["topic"], letter["reason"]) == (TURNS, "bad")
        shown = obelus(fresh_settings, "dead-letters", "--show", str(letter["id"]))[1]["dead_letters"]
        assert json.loads(shown[0]["record"]["value"])["message_id"] == "m1"
        # It is as bad as before.
        status, answer = obelus(fresh_settings, "redrive", str(letter["id"]))
        assert (status, answer["redriven"][0]["outcome"]) == (1, "bad")
        process.terminate()
    with start(fresh_settings, TOY_FORGIVES="1") as process:
        status, answer = obelus(fresh_settings, "redrive", str(letter["id"]))
        assert (status, answer) == (0, {"redriven": [{"id": letter["id"], "outcome": "redriven"}]})
        until(lambda: "m1" in published(fresh_settings), 10)
        process.terminate()
    assert obelus(fresh_settings, "dead-letters")[1] == {"dead_letters": []}
    where = (letter["partition"], letter["offset"])
    assert rows(fresh_settings, "SELECT part, pos FROM toy_rows WHERE message = 'm1'") == [where]
    assert sorted(published(fresh_settings)) == ["m1", "m2"]
    ends = offsets.log_ends(declared.admin_client(fresh_settings), [TURNS])
    assert sum(end.high for end in ends) == 2, "nothing was put back into the log"


def test_a_dead_letter_that_the_log_has_dropped_is_gone(fresh_settings: Settings, topics: None) -> None:
    with start(fresh_settings) as process:
        publish(fresh_settings, [turn(1, "bad"), turn(1)])
        settle(fresh_settings, process)
        admin = declared.admin_client(fresh_settings)
        [(letter, part, pos)] = rows(fresh_settings, "SELECT id, part, pos FROM dead_letters")
        for future in admin.delete_records([TopicPartition(TURNS, part, pos + 1)]).values():
            future.result()
        status, answer = obelus(fresh_settings, "redrive", str(letter))
        assert (status, answer["redriven"][0]["outcome"]) == (1, "gone")
        process.terminate()


def test_what_a_tick_says_is_published_and_forgotten(fresh_settings: Settings, topics: None) -> None:
    with start(fresh_settings) as process:
        until(lambda: "resynchronised" in process.text, 20)
        with connect(fresh_settings.database, autocommit=True) as connection:
            connection.execute("INSERT INTO toy_ticks SELECT generate_series(1, 50)")
        until(lambda: len(published(fresh_settings)) >= 50, 15)
        until(lambda: rows(fresh_settings, "SELECT count(*) FROM outbox") == [(0,)], 5)
        process.terminate()
    assert sorted(published(fresh_settings)) == sorted(f"tick{number}" for number in range(1, 51))


def test_what_a_dead_worker_left_in_the_outbox_is_published(fresh_settings: Settings, topics: None) -> None:
    body = turn(1).body
    with connect(fresh_settings.database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO outbox (consumer, topic, key, type, ce_id, body)"
            " VALUES ('toy', 'memory.candidates', 'k', 't', 'left', %s), ('other', 'x', 'k', 't', 'o', %s)",
            (body, body),
        )
    with start(fresh_settings) as process:
        until(lambda: published(fresh_settings) == ["left"], 15)
        process.terminate()
    assert rows(fresh_settings, "SELECT consumer FROM outbox") == [("other",)]


@pytest.mark.parametrize("past_end", [False, True])
def test_a_lost_range_of_an_inbound_log_stops_and_is_named(
    past_end: bool, fresh_settings: Settings, topics: None
) -> None:
    with start(fresh_settings) as process:
        publish(fresh_settings, [turn(1, subjects=1) for _ in range(10)])
        settle(fresh_settings, process)
        assert process.terminate() == 0
    [(part,)] = rows(fresh_settings, "SELECT part FROM positions WHERE next > 0")
    if past_end:
        with connect(fresh_settings.database, autocommit=True) as connection:
            connection.execute("UPDATE positions SET next = 25 WHERE part = %s", (part,))
        named, first, last = f"{TURNS}/{part}: offsets 10 to 24", 10, 24
    else:
        publish(fresh_settings, [turn(1, subjects=1) for _ in range(10)])
        admin = declared.admin_client(fresh_settings)
        for future in admin.delete_records([TopicPartition(TURNS, part, 14)]).values():
            future.result()
        named, first, last = f"{TURNS}/{part}: offsets 10 to 13", 10, 13
    with start(fresh_settings) as process:
        assert process.wait(90) == 78
        assert named in process.text
        command = process.text.rpartition("`obelus ")[2].partition("`")[0].split()
    assert command == ["accept-lost", lost := f"toy:{TURNS}/{part}:{first}-{last}"]
    # Exactly what is gone, and nothing on the strength of a guess.
    status, answer = obelus(fresh_settings, "accept-lost", f"toy:{TURNS}/{part}:{first}-{last + 1}")
    assert (status, answer["accepted"][0]["outcome"]) == (1, f"what is lost is {lost}")
    for outcome in ("accepted", "accepted before"):
        assert obelus(fresh_settings, *command) == (0, {"accepted": [{"range": lost, "outcome": outcome}]})
    assert rows(fresh_settings, "SELECT consumer, part, start, stop FROM accepted_losses") == [
        ("toy", part, first, last + 1)
    ]
    if past_end:
        # Everything that the log has is read again, and the toy takes nothing twice.
        with connect(fresh_settings.database, autocommit=True) as connection:
            connection.execute("DELETE FROM toy_rows")
    with start(fresh_settings) as process:
        until(
            lambda: rows(fresh_settings, "SELECT 1 FROM positions WHERE next = %s" % (10 if past_end else 20)),
            30,
            lambda: process.text[-1500:],
        )
        assert process.terminate() == 0
    assert obelus(fresh_settings, "accept-lost", f"toy:{TURNS}/{part}:0-3")[0] == 1
    assert obelus(fresh_settings, "accept-lost", "toy:0-3")[0] == 2


def test_setting_a_position_back_replays(fresh_settings: Settings, topics: None) -> None:
    with start(fresh_settings) as process:
        publish(fresh_settings, [turn(1, subjects=1) for _ in range(10)])
        settle(fresh_settings, process)
        process.terminate()
    with connect(fresh_settings.database, autocommit=True) as connection:
        connection.execute("DELETE FROM toy_rows WHERE pos >= 4")
        connection.execute("UPDATE positions SET next = 4 WHERE next > 4")
    with start(fresh_settings) as process:
        settle(fresh_settings, process)
        process.terminate()
    assert rows(fresh_settings, "SELECT n FROM toy_sums") == [(16,)]


def test_two_workers_share_and_take_over(fresh_settings: Settings, topics: None) -> None:
    with start(fresh_settings, OBELUS_BATCH="20") as first:
        publish(fresh_settings, [turn(number) for number in range(200)])
        settle(fresh_settings, first)
        with start(fresh_settings, OBELUS_BATCH="20") as second:
            number = 200
            deadline = time.monotonic() + 90
            while "resynchronised" not in second.text and time.monotonic() < deadline:
                publish(fresh_settings, [turn(number + more) for more in range(20)])
                number += 20
            publish(fresh_settings, [turn(number + more) for more in range(200)])
            number += 200
            settle(fresh_settings, second)
            assert "slot 0" in first.text
            assert "slot 1" in second.text
            assert first.terminate() == 0
            publish(fresh_settings, [turn(number + more) for more in range(100)])
            settle(fresh_settings, second)
            assert second.terminate() == 0
    total = number + 100
    assert rows(fresh_settings, "SELECT sum(n)::int FROM toy_sums") == [(total,)]
    assert sorted(published(fresh_settings)) == sorted(f"m{one}" for one in range(total))


def test_a_stop_in_the_middle_finishes_the_batch(fresh_settings: Settings, topics: None) -> None:
    slow = [*TOY.argv, "0.7"]
    with Process(slow, fresh_settings, OBELUS_BATCH="10") as process:
        publish(fresh_settings, [turn(number, subjects=1) for number in range(40)])
        until(lambda: "resynchronised" in process.text, 20)
        time.sleep(0.3)
        process.send(signal.SIGTERM)
        assert process.wait(90) == 0
    stored = rows(fresh_settings, "SELECT count(*)::int FROM toy_rows")[0][0]
    assert 0 < stored <= 20
    assert len(published(fresh_settings)) == stored


def test_postgres_that_ends_our_sessions_is_waited_for(fresh_settings: Settings, topics: None) -> None:
    with start(fresh_settings, OBELUS_BATCH="20") as process:
        publish(fresh_settings, [turn(number) for number in range(100)])
        settle(fresh_settings, process)
        for batch in range(1, 4):
            with connect(fresh_settings.database, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name = 'obelus toy' AND datname = current_database()"
                )
            publish(fresh_settings, [turn(batch * 100 + number) for number in range(100)])
        settle(fresh_settings, process)
        assert process.terminate() == 0
    assert rows(fresh_settings, "SELECT sum(n)::int FROM toy_sums") == [(400,)]
    assert sorted(set(published(fresh_settings))) == sorted(f"m{number}" for number in range(400))


def test_a_stuck_process_ends_itself(fresh_settings: Settings, topics: None) -> None:
    with Process([*TOY.argv, "60"], fresh_settings, OBELUS_STUCK_SECONDS="3") as process:
        publish(fresh_settings, [turn(1)])
        assert process.wait(90) == 75
        assert "the loop has not turned" in process.text
        assert "in prepare" in process.text, "it shows where"
