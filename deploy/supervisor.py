"""Starts parts and consumers, restarts what dies, stops all it started in reverse order."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import IO

from deploy import homekeys, lock, parts, probe, runfile, stale
from deploy.embedded.part import Part, start_all
from deploy.embedded.ports import HOST
from deploy.embedded.process import Child, Command, trim
from deploy.kept import FAILED, RUNNING, STARTING, Kept
from deploy.roles import CONSUMERS
from schemas.settings import Settings

Progress = Callable[[str], None]
_TICK = 0.2
_CONSUMERS_READY_WITHIN = 60.0
_CONSUMERS_STOP_WITHIN = 15.0
_PARTS_STOP_WITHIN = 20.0


class Interrupted(BaseException):
    """Ctrl-C or a signal to end, while the stack is still starting."""


class Supervisor:
    """One run of one home, in the main thread from `run` to its return."""

    def __init__(self, settings: Settings, progress: Progress, *, consumers: bool = True) -> None:
        """Keep what to do; `consumers=False` brings up parts alone."""
        self.settings = settings
        self.run_state = runfile.Run(os.getpid())
        self._tell = progress
        self._names = list(CONSUMERS) if consumers else []
        self._parts: dict[str, Part] = {}
        self._kept_parts: list[Kept] = []
        self._consumers: list[Kept] = []
        self._stop = threading.Event()
        self._starting = True
        self._lock: IO[str] | None = None
        self._place = parts.place(settings.home)

    def run(self) -> int:
        """Bring the stack up, look after it until told to stop, take it down.

        Raises:
            AlreadyRunning: the home has a supervisor.
            PartUnavailable: a part cannot start.
        """
        home = self.settings.home
        # Never closed: the home is free when this process is gone, not a moment before.
        self._lock = lock.acquire(home)
        with self._signals():
            stale.clear(home / "children.json")
            try:
                self._up()
                self._starting = False
                self._look_after()
            except Interrupted:
                self._tell("interrupted while starting")
            finally:
                self._starting = False
                self._down()
        return 0

    # Up

    def _up(self) -> None:
        homekeys.ensure(self.settings)
        self._write()
        self._parts = parts.wanted(self.settings, self._place)
        start_all(list(self._parts.values()), self._said)
        for part in self._parts.values():
            kept = Kept(part.name, part.command(), part.log, part.answers, part.child, RUNNING)
            self._kept_parts.append(kept)
        self._publish_addresses()
        self._prepare_stores()
        for name in self._names:
            self._consumers.append(self._consumer(name))
            self._consumers[-1].start()
            self._write()
        self._await_consumers()
        self.run_state.state = runfile.READY
        self._write()

    def _said(self, message: str) -> None:
        # Called from the threads that prepare parts too: this is how a long download is ended.
        if self._stop.is_set():
            raise Interrupted
        self._tell(message)

    def _publish_addresses(self) -> None:
        addresses = parts.addresses(self.settings, self._parts)
        api = self.settings.api or f"http://{HOST}:{self._place.ports.take('api')}"
        embedded = "kafka" in self._parts
        chosen = "turns_log" in self.settings.model_fields_set
        turns_log = self.settings.turns_log if chosen or not embedded else "exclusive"
        self.run_state.addresses = addresses | {"api": api, "turns_log": turns_log}
        self._write()

    def _prepare_stores(self) -> None:
        """Bring tables and topics to this version; both may be repeated."""
        from stores.migrate import migrate
        from streams.topics import apply

        settings = self.settings.model_copy(update=self.run_state.addresses)
        migrate(settings.database)
        apply(settings)
        self._tell("tables and topics are in place")

    def _consumer(self, name: str) -> Kept:
        port = self._place.ports.take(f"health-{name}")
        env = {
            "OBELUS_HOME": str(self.settings.home),
            "OBELUS_HEALTH_PORT": str(port),
            "PYTHONUNBUFFERED": "1",
        }
        self.run_state.consumers[name] = {"health": port}
        command = Command([sys.executable, "-m", "deploy.cli", "run", name], env)
        log = self.settings.home / "logs" / f"{name}.log"
        return Kept(name, command, log, partial(probe.ready, port))

    def _await_consumers(self) -> None:
        deadline = time.monotonic() + _CONSUMERS_READY_WITHIN
        while any(kept.state not in (RUNNING, FAILED) for kept in self._consumers):
            if time.monotonic() > deadline:
                late = [kept.name for kept in self._consumers if kept.state == STARTING]
                self._tell(f"not ready yet, left to themselves: {', '.join(late)}")
                return
            self._tick()
            time.sleep(_TICK / 2)

    # While it runs

    def _look_after(self) -> None:
        self._tell("ready")
        while not self._stop.wait(_TICK):
            self._tick()

    def _tick(self) -> None:
        changed = [kept for kept in (*self._kept_parts, *self._consumers) if kept.tick()]
        for kept in changed:
            self._report(kept)
        if changed:
            self._write()
        for kept in (*self._kept_parts, *self._consumers):
            trim(kept.log)

    def _report(self, kept: Kept) -> None:
        if kept.state == FAILED:
            self._tell(kept.message)
        elif kept.state != STARTING:
            status = kept.child.exit_status if kept.child else None
            ended = "" if status is None else f" (it ended with status {status})"
            self._tell(f"{kept.name} is {kept.state}{ended}")

    def _write(self) -> None:
        """Publish what there is now."""
        state = self.run_state
        kept_parts = {kept.name: kept for kept in self._kept_parts}
        for name in parts.PARTS:
            part = self._parts.get(name)
            known = kept_parts.get(part.name) if part else None
            entry = {"address": state.addresses.get(name, "")}
            label = parts.PARTS[name].name
            state.parts[label] = entry | (_described(known) if known else {})
        for kept in self._consumers:
            state.consumers[kept.name] |= _described(kept)
        children = [*self._kept_parts, *self._consumers]
        pids = [kept.child.pid for kept in children if kept.child and kept.child.alive()]
        stale.remember(self.settings.home / "children.json", pids)
        state.write(self.settings.run_file)

    # Down

    def _down(self) -> None:
        self.run_state.state = runfile.STOPPING
        with contextlib.suppress(OSError):
            self.run_state.write(self.settings.run_file)
        self._tell("stopping")
        _stop_all([kept.child for kept in self._consumers], _CONSUMERS_STOP_WITHIN)
        _stop_all([kept.child for kept in self._kept_parts], _PARTS_STOP_WITHIN)
        for name in (self.settings.run_file, self.settings.home / "children.json"):
            name.unlink(missing_ok=True)
        self._tell("stopped")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, self._told_to_stop) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told_to_stop(self, number: int, frame: FrameType | None) -> None:
        first = not self._stop.is_set()
        self._stop.set()
        if self._starting and first:
            raise Interrupted


def _described(kept: Kept) -> dict[str, object]:
    known: dict[str, object] = {"state": kept.state, "restarts": kept.restarts}
    if kept.child is not None:
        known["pid"] = kept.child.pid
    if kept.message:
        known["message"] = kept.message
    return known


def _stop_all(children: list[Child | None], timeout: float) -> None:
    """Ask in reverse order of start, all of them before the first is waited for."""
    running = [child for child in reversed(children) if child is not None]
    for child in running:
        child.terminate()
    deadline = time.monotonic() + timeout
    for child in running:
        child.wait(deadline - time.monotonic())
