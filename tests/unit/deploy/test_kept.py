"""A child is restarted with backoff and given up when it does nothing but die."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from deploy import kept, stale
from deploy.embedded.process import Child, Command, tail, trim
from deploy.kept import FAILED, RESTARTING, RUNNING, STARTING, Kept

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]
DIES = [sys.executable, "-S", "-c", "print('last words'); raise SystemExit(4)"]


def child(tmp_path: Path, argv: list[str], ready: bool = True) -> Kept:
    return Kept("thing", Command(argv), tmp_path / "thing.log", lambda: ready)


def tick_until(thing: Kept, state: str, within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while thing.state != state:
        assert time.monotonic() < deadline, thing.state
        thing.tick()
        time.sleep(0.01)


def end(thing: Kept) -> None:
    assert thing.child is not None
    thing.child.terminate()
    thing.child.wait(5)


def test_it_runs_once_its_probe_says_so(tmp_path: Path) -> None:
    thing = child(tmp_path, SLEEPS, ready=False)
    thing.start()
    assert not thing.tick()
    assert thing.state == STARTING
    thing.probe = lambda: True
    assert thing.tick()
    assert thing.state == RUNNING
    end(thing)


def test_what_is_killed_is_started_again_however_often(tmp_path: Path) -> None:
    thing = child(tmp_path, SLEEPS)
    thing.start()
    for _ in range(kept.DEATHS + 1):
        thing._pause = 0.01
        tick_until(thing, RUNNING)
        assert thing.child is not None
        os.kill(thing.child.pid, signal.SIGKILL)
        tick_until(thing, RESTARTING)
    tick_until(thing, RUNNING)
    assert thing.restarts == kept.DEATHS + 1
    end(thing)


def test_a_crash_loop_ends_with_status_and_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_LONGEST_PAUSE", 0.05)
    thing = child(tmp_path, DIES, ready=False)
    thing.start()
    tick_until(thing, FAILED)
    assert thing.restarts == kept.DEATHS - 1
    assert "last status 4" in thing.message
    assert "last words" in thing.message
    assert not thing.tick()


def test_the_pause_grows(tmp_path: Path) -> None:
    thing = child(tmp_path, DIES, ready=False)
    thing.start()
    pauses = []
    for _ in range(3):
        tick_until(thing, RESTARTING)
        pauses.append(thing._next_start - time.monotonic())
        thing._next_start = 0
        thing.tick()
    assert pauses[0] < pauses[1] < pauses[2]
    end(thing)


def test_a_child_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path;"
        "from deploy.embedded.process import Child, Command;"
        f"c = Child(Command({SLEEPS!r}), Path({str(tmp_path / 'log')!r}));"
        "print(c.pid, flush=True); time.sleep(60)"
    )
    import subprocess

    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.3)
    assert psutil.pid_exists(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while stale.lives(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_leftovers_are_ended_and_strangers_are_not(tmp_path: Path) -> None:
    mine, stranger = (
        Child(Command(SLEEPS), tmp_path / "a.log"),
        Child(Command(SLEEPS), tmp_path / "b.log"),
    )
    time.sleep(0.2)
    file = tmp_path / "children.json"
    stale.remember(file, [mine.pid])
    text = file.read_text()
    file.write_text(text[:-1] + f', "{stranger.pid}": 12.5}}')
    mine.terminate()  # as the kernel does when the supervisor dies
    stale.clear(file)
    assert not stale.lives(mine.pid)
    assert stale.lives(stranger.pid)
    assert not file.exists()
    stranger.terminate()
    stranger.wait(5)
    mine.wait(5)


def test_a_full_log_is_moved_aside_under_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"old line\n" * 100)
        trim(log, limit=100)
        writer.write(b"new line\n")
    assert log.read_text() == "new line\n"
    assert (tmp_path / "x.log.1").read_text().startswith("old line")
    assert tail(log) == "new line"
    assert tail(tmp_path / "none.log") == ""
