"""The Faust app on real parts: windows are the last ten turns, whatever is killed when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from schemas.events import Control, Turn
from schemas.settings import Settings
from schemas.topics import TURNS
from stores.cache import redis_client
from stores.database import connect
from stores.subjects import load_by_ref
from stores.vault import open_vault
from stores.windows import WindowStore
from streams.codec import Message, message
from streams.producer import publish
from streams.sessions.progress import sessions_lag
from streams.topics import admin_client

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 1, tzinfo=UTC)
Run = Callable[[], subprocess.Popen[bytes]]


def turn(subject: str, conversation: str, number: int, text: str | None = None, **more: str) -> Message:
    event = Turn(
        tenant="default",
        subject=subject,
        conversation=conversation,
        message_id=f"{conversation}-{number}",
        role="user",
        text=text or f"said {number}",
        at=START + timedelta(seconds=number),
        **more,  # type: ignore[arg-type]
    )
    return message(TURNS, f"default:{subject}", event, event.message_id)


def control(subject: str, action: str, request: str) -> Message:
    event = Control(
        tenant="default",
        subject=subject,
        request_id=request,
        actor="person",
        at=START,
        action=action,  # type: ignore[arg-type]
    )
    return message(TURNS, f"default:{subject}", event, request)


def window(settings: Settings, subject: str, conversation: str) -> list[str]:
    """What Redis holds, read as recall reads it."""
    vault = open_vault(settings)
    try:
        lookup = vault.lookup("default")
        if lookup is None:
            return []
        ref = lookup.subject(subject)
        with connect(settings.database) as connection:
            row = load_by_ref(connection, [ref]).get(ref)
        if row is None or row.handle is None:
            return []
        keys = vault.data_keys([row.handle])[row.handle]
        with redis_client(settings) as client:
            found = WindowStore(client).read(keys, row.epoch, keys.id("conversation", conversation))
        return [one.text for one in found or ()]
    finally:
        vault.close()


def flush(settings: Settings) -> None:
    with redis_client(settings) as client:
        client.flushdb()


def eventually(look: Callable[[], object], want: object, seconds: float = 90.0) -> None:
    until = time.monotonic() + seconds
    while (seen := look()) != want:
        assert time.monotonic() < until, f"still {seen!r}"
        time.sleep(0.1)


@pytest.fixture
def run(fresh_settings: Settings, topics: None, tmp_path: Path) -> Iterator[Run]:
    output, here = tmp_path / "output", tmp_path / "here"
    here.mkdir()
    started: list[subprocess.Popen[bytes]] = []
    names = ("kafka", "database", "redis", "qdrant")
    environment = os.environ | {
        "OBELUS_HOME": str(fresh_settings.home),
        **{f"OBELUS_{name.upper()}": getattr(fresh_settings, name) for name in names},
    }

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "deploy.cli", "run", "streams"]
        with output.open("ab") as log:
            started.append(
                subprocess.Popen(command, env=environment, cwd=here, start_new_session=True, stdout=log, stderr=log)
            )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
    assert list(here.iterdir()) == [], "it writes where it is started"
    # No content and no natural id in anything it printed.
    printed = output.read_text()
    for word in ("said", "sk-proj", "default:", "p1-talk", "unheard"):
        assert word not in printed, printed


def test_a_window_is_the_last_ten_turns_in_order(fresh_settings: Settings, run: Run) -> None:
    process = run()
    publish(fresh_settings, [turn("ana", "c1", n) for n in range(25)] + [turn("ana", "c2", n) for n in range(3)])
    eventually(lambda: window(fresh_settings, "ana", "c1"), [f"said {n}" for n in range(15, 25)])
    eventually(lambda: window(fresh_settings, "ana", "c2"), [f"said {n}" for n in range(3)])
    assert psutil.Process(process.pid).memory_info().rss < 150e6
    process.terminate()
    assert process.wait(60) == 0


def test_secrets_repeats_and_pauses(fresh_settings: Settings, run: Run) -> None:
    run()
    secret = "my key is sk-proj-abcdefghijklmnopqrstuvwxyz012345 ok"
    publish(
        fresh_settings,
        [
            turn("bo", "c", 1, secret),
            turn("bo", "c", 2),
            turn("bo", "c", 2),
            Message(TURNS, "default:bo", "org.obelus.turn.v1", "x", b"not json"),
            control("bo", "pause", "r1"),
            turn("bo", "c", 3, "unheard"),
            control("bo", "resume", "r2"),
            turn("bo", "c", 4),
        ],
    )
    eventually(lambda: len(window(fresh_settings, "bo", "c")), 3)
    found = window(fresh_settings, "bo", "c")
    assert found[1:] == ["said 2", "said 4"]
    assert "sk-proj" not in found[0]
    # Nothing of it lies readable in Redis either.
    with redis_client(fresh_settings) as client:
        held = b"".join(client.get(key) or b"" for key in client.scan_iter("window:*"))  # type: ignore[misc]
    assert held
    assert b"said" not in held


@pytest.mark.slow
def test_killing_it_changes_nothing(fresh_settings: Settings, run: Run) -> None:
    people = [f"p{n}" for n in range(6)]
    process, sent = run(), 0
    for _ in range(2):
        for _ in range(20):
            publish(fresh_settings, [turn(who, f"{who}-talk", sent) for who in people])
            sent += 1
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        publish(fresh_settings, [turn(who, f"{who}-talk", sent) for who in people])
        sent += 1
        process = run()
    want = [f"said {n}" for n in range(sent - 10, sent)]
    for who in people:
        eventually(lambda who=who: window(fresh_settings, who, f"{who}-talk"), want)


def test_a_lost_redis_is_filled_again(fresh_settings: Settings, run: Run) -> None:
    """Windows and positions are lost together; the log is read again from where Kafka has us, the rest is merged."""
    run()
    publish(fresh_settings, [turn("cy", "c", n) for n in range(12)])
    eventually(lambda: window(fresh_settings, "cy", "c"), [f"said {n}" for n in range(2, 12)])
    store_turns(fresh_settings, "cy", "c", range(12))
    flush(fresh_settings)
    publish(fresh_settings, [turn("cy", "c", 12)])
    eventually(lambda: window(fresh_settings, "cy", "c"), [f"said {n}" for n in range(3, 13)])


def test_a_lost_redis_leaves_no_lag_where_nobody_speaks_again(fresh_settings: Settings, run: Run) -> None:
    process = run()
    publish(fresh_settings, [turn("cy", "c", 1)])
    eventually(lambda: behind(fresh_settings), 0)
    flush(fresh_settings)
    eventually(lambda: behind(fresh_settings), 0)
    process.kill()
    process.wait(60)
    flush(fresh_settings)
    assert behind(fresh_settings) == 1
    run()
    eventually(lambda: behind(fresh_settings), 0)


def test_the_end_of_a_transaction_leaves_no_lag(fresh_settings: Settings, run: Run) -> None:
    """It has an offset of its own, and no record ever comes for it."""
    run()
    producer = Producer({"bootstrap.servers": fresh_settings.kafka, "transactional.id": "platform"})
    producer.init_transactions(10)
    for number, end in ((1, producer.commit_transaction), (2, producer.abort_transaction)):
        one = turn("flo", "c", number)
        producer.begin_transaction()
        producer.produce(TURNS, one.body, one.key)
        end(10)
    eventually(lambda: window(fresh_settings, "flo", "c"), ["said 1"])
    eventually(lambda: behind(fresh_settings), 0)


def behind(settings: Settings) -> int:
    with redis_client(settings) as client:
        return sessions_lag(admin_client(settings), client)


def store_turns(settings: Settings, subject: str, conversation: str, numbers: range) -> None:
    """Rows of the event log as the extractor writes them."""
    import orjson

    vault = open_vault(settings)
    lookup = vault.lookup("default")
    assert lookup is not None
    ref = lookup.subject(subject)
    with connect(settings.database) as connection:
        row = load_by_ref(connection, [ref])[ref]
        keys = vault.data_keys([row.handle or b""])[row.handle or b""]
        log = connection.execute("SELECT no FROM logs WHERE topic = %s", (TURNS,)).fetchone()
        assert log is not None
        for number in numbers:
            name = keys.id("turn", f"{conversation}-{number}")
            body = keys.seal(name, orjson.dumps({"segments": [{"text": f"said {number}", "origin": "typed"}]}))
            connection.execute(
                "INSERT INTO turns (id, subject, handle, epoch, author, author_epoch, conversation, revision, role,"
                " digest, at, body, log, part, pos)"
                " SELECT %s, %s, %s, %s, %s, 1, %s, 0, 'user', '', %s, %s, %s, 0, %s",
                (name, ref, row.handle, row.epoch, ref, keys.id("conversation", conversation),
                 START + timedelta(seconds=number), body, log[0], number),
            )  # fmt: skip
    vault.close()


def test_an_erased_persons_old_turns_do_not_come_back_and_a_new_life_does(fresh_settings: Settings, run: Run) -> None:
    run()
    publish(fresh_settings, [turn("dee", "c", n) for n in range(3)])
    eventually(lambda: window(fresh_settings, "dee", "c"), [f"said {n}" for n in range(3)])
    # Block, as the purger does it, with a fence after what the log has.
    vault = open_vault(fresh_settings)
    lookup = vault.lookup("default")
    assert lookup is not None
    ref = lookup.subject("dee")
    with connect(fresh_settings.database, autocommit=True) as connection:
        handle = load_by_ref(connection, [ref])[ref].handle
        log = connection.execute("SELECT no FROM logs WHERE topic = %s", (TURNS,)).fetchone()
        assert log is not None
        fence = ", ".join(f'"{log[0]}/{part}": 5' for part in range(16))
        connection.execute(
            "UPDATE subjects SET epoch = epoch + 1, handle = NULL, body = NULL, fence = %s WHERE ref = %s",
            ("{" + fence + "}", ref),
        )
        flush(fresh_settings)
        # Two more before the fence: late ones. The marker shows that they were read.
        publish(fresh_settings, [turn("dee", "c", n) for n in (3, 4)])
        publish(fresh_settings, [turn("marker", "m", 1)])
        eventually(lambda: window(fresh_settings, "marker", "m"), ["said 1"])
        time.sleep(1)
        assert load_by_ref(connection, [ref])[ref].handle is None
        assert window(fresh_settings, "dee", "c") == []
        publish(fresh_settings, [turn("dee", "c", 5)])
        eventually(lambda: window(fresh_settings, "dee", "c"), ["said 5"])
        assert load_by_ref(connection, [ref])[ref].handle not in (None, handle)
    vault.close()


def test_an_erased_message_does_not_return_when_the_log_is_read_again(fresh_settings: Settings, run: Run) -> None:
    """A narrow erasure tombstones its messages; windows are made anew without them."""
    spoken = [turn("p1", "talk", number) for number in range(1, 4)]
    process = run()
    publish(fresh_settings, spoken)
    eventually(lambda: window(fresh_settings, "p1", "talk"), ["said 1", "said 2", "said 3"])
    process.kill()
    process.wait(60)
    vault = open_vault(fresh_settings)
    lookup = vault.lookup("default")
    assert lookup is not None
    vault.add_tombstones([lookup.tombstone("message", "p1", "talk-2")])
    vault.close()
    flush(fresh_settings)
    run()
    # All of it again, as a platform would, and as a position set back would.
    publish(fresh_settings, [*spoken, turn("p1", "talk", 4)])
    eventually(lambda: window(fresh_settings, "p1", "talk")[-1:], ["said 4"])
    assert window(fresh_settings, "p1", "talk") == ["said 1", "said 3", "said 4"]
