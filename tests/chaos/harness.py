"""Disturbs a consumer as a real process and compares what is left with an undisturbed run.

A test brings a `Scenario` (what to feed, when all of it is through, what to compare) and plays it
once undisturbed and once for each `Case`, each time on a database and topics of its own:

    expected = play(UNDISTURBED, scenario, settings)
    assert play(case, scenario, other_settings) == expected

`Process` may be used alone where a test needs several consumers or a play of its own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import psutil
import pytest
from _pytest.mark import ParameterSet
from pydantic import SecretStr

from consumers import faults
from consumers.running import AGAIN, STOPPED
from schemas.errors import TransientError
from schemas.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 3.0
"""Waits are written for an idle machine; a busy one gets so many times as long."""
TAKEOVER_S = 9.0
"""A stopped consumer's partitions are given away after the broker's session timeout of 6 s."""


def environment(settings: Settings) -> dict[str, str]:
    """Give the variables by which a child process gets these very settings."""
    found = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if value is not None and value != "":
            text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            found[f"OBELUS_{name.upper()}"] = text
    return found


def obelus_run(name: str) -> list[str]:
    """Give the command line of `obelus run NAME`."""
    code = "import sys; from deploy.cli import main; main(sys.argv[1:])"
    return [sys.executable, "-c", code, "run", name]


class Process:
    """One consumer process; use it as a context, which kills what is left of it."""

    def __init__(
        self, argv: Sequence[str], settings: Settings, *, fault: str = "", log: Path | None = None, **more: str
    ) -> None:
        """Start it.

        Args:
            argv: command line, see `obelus_run`.
            settings: what it is to use.
            fault: value of `OBELUS_FAULT`, see `consumers.faults`.
            log: where its output is appended; a file in the settings' home by default.
            more: further variables, such as `OBELUS_BATCH="50"`.
        """
        self.log = log or settings.home / f"process-{time.monotonic_ns()}.log"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OBELUS_")}
        own = environment(settings) | {"OBELUS_FAULT": fault, "OBELUS_HEALTH_PORT": "0"} | more
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                argv, env=clean | own, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def text(self) -> str:
        """Everything it has written so far."""
        return self.log.read_text("utf-8", "replace")

    def alive(self) -> bool:
        """Whether it has not ended; a stopped process is alive."""
        return self._process.poll() is None

    def stopped(self) -> bool:
        """Whether SIGSTOP holds it."""
        return self.alive() and psutil.Process(self.pid).status() == psutil.STATUS_STOPPED

    def send(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def resume(self) -> None:
        """Let a stopped process go on."""
        self.send(signal.SIGCONT)

    def wait(self, timeout: float = 30.0) -> int:
        """Wait for its end and give its status, negative for a signal."""
        try:
            return self._process.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout * PATIENCE} s:\n{self.text[-2000:]}") from None

    def terminate(self, timeout: float = 30.0) -> int:
        """Ask it to stop in good order and give its status."""
        self.resume()
        self.send(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self) -> None:
        """End it at once, whatever it does."""
        if self.alive():
            self._process.kill()
        self._process.wait()


def until(true: Callable[[], Any], timeout: float = 60.0, what: str | Callable[[], str] = "") -> None:
    """Wait until something holds; `what` says what was waited for.

    Raises:
        AssertionError: it does not within `timeout` seconds of an idle machine, see `PATIENCE`.
    """
    deadline = time.monotonic() + timeout * PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout * PATIENCE} s: {what() if callable(what) else what}")
        time.sleep(0.1)


class Scenario(Protocol):
    """What a test brings; `settings` are always those of the run at hand."""

    argv: Sequence[str]
    """The consumer that is disturbed."""
    variables: dict[str, str]
    """Further variables of its process."""

    def feed(self, settings: Settings) -> None:
        """Publish the input; called once the consumer runs."""

    def settled(self, settings: Settings) -> bool:
        """Whether all of the input is through and nothing is under way."""

    def state(self, settings: Settings) -> Any:
        """Give what is to be equal; nothing in it may depend on the run."""

    # A scenario may have `explain(settings) -> str`, shown where it does not settle.


@dataclass(frozen=True)
class Case:
    """One disturbance.

    Attributes:
        kind: `kill` (SIGKILL, then a new process), `zombie` (SIGSTOP past the session timeout, another
            takes over, SIGCONT), `abort` (a Kafka transaction is aborted), `none`.
        point: where, one of `consumers.faults.POINTS`.
        nth: at which passing of the point.
    """

    kind: Literal["kill", "zombie", "abort", "none"]
    point: str = ""
    nth: int = 3

    def __str__(self) -> str:
        return "-".join(filter(None, (self.kind, self.point)))

    @property
    def fault(self) -> str:
        """The value of `OBELUS_FAULT`."""
        if not self.point:
            return ""
        return f"{'stop@' if self.kind == 'zombie' else ''}{self.point}:{self.nth}"


UNDISTURBED = Case("none")
_KILLS = (
    faults.BEFORE_PG_COMMIT,
    faults.AFTER_PG_COMMIT,
    faults.AFTER_KAFKA_COMMIT,
    faults.IN_SETTLE,
)
CASES: tuple[Case, ...] = (
    *(Case("kill", point) for point in _KILLS),
    Case("kill", faults.BEFORE_KAFKA_COMMIT),
    Case("abort", faults.ABORT_KAFKA),
    Case("zombie", faults.BEFORE_PG_COMMIT),
    Case("zombie", faults.AFTER_PG_COMMIT),
    Case("zombie", faults.BEFORE_KAFKA_COMMIT),
    Case("zombie", faults.IN_SETTLE),
)
"""Every disturbance of a worker. A consumer that publishes nothing does not pass the Kafka points
`before_kafka_commit` and `abort_kafka`; see `cases`."""


def cases(publishes: bool = True) -> tuple[Case, ...]:
    """Give the disturbances that a consumer can meet."""
    kafka = (faults.BEFORE_KAFKA_COMMIT, faults.ABORT_KAFKA)
    return CASES if publishes else tuple(case for case in CASES if case.point not in kafka)


def marked(chosen: Sequence[Case], sampled: int = 3, seed: int = 20260089) -> list[ParameterSet]:
    """Give cases as parameters of a test: all are `chaos`, and a seeded few are in `make test` too."""
    few = random.Random(seed).sample(range(len(chosen)), min(sampled, len(chosen)))
    return [
        pytest.param(case, id=str(case), marks=[pytest.mark.chaos, *([pytest.mark.sample] if at in few else [])])
        for at, case in enumerate(chosen)
    ]


@dataclass
class Play:
    """One run of a scenario under a case; `processes` is left for looking at logs."""

    case: Case
    scenario: Scenario
    settings: Settings
    timeout: float = 90.0
    processes: list[Process] = field(default_factory=list)

    def run(self) -> Any:
        """Feed, disturb, wait until all is through, stop, and give the state."""
        with ExitStack() as ending:
            first = self._start(ending, self.case.fault)
            self.scenario.feed(self.settings)
            left = {"kill": self._kill, "zombie": self._zombie}.get(self.case.kind, self._watch)(first, ending)
            self._settle()
            assert self.case.kind != "abort" or "transaction was aborted" in first.text, first.text[-2000:]
            if self.case.kind == "zombie":
                # It found out by itself that it must end, or lived on as a member without partitions.
                assert first.terminate() in (STOPPED, AGAIN), first.text[-2000:]
            assert left.terminate() == STOPPED, left.text[-2000:]
            return self.scenario.state(self.settings)

    def _start(self, ending: ExitStack, fault: str = "") -> Process:
        process = Process(self.scenario.argv, self.settings, fault=fault, **self.scenario.variables)
        self.processes.append(process)
        return ending.enter_context(process)

    def _watch(self, first: Process, ending: ExitStack) -> Process:
        return first

    def _kill(self, first: Process, ending: ExitStack) -> Process:
        assert first.wait(self.timeout) == -signal.SIGKILL, first.text[-2000:]
        return self._start(ending)

    def _zombie(self, first: Process, ending: ExitStack) -> Process:
        until(first.stopped, self.timeout, lambda: f"{self.case} stops: {first.text[-2000:]}")
        second = self._start(ending)
        until(lambda: "resynchronised" in second.text, self.timeout, "the other takes over")
        # As far as the other gets while this one may still hold locks.
        deadline = time.monotonic() + TAKEOVER_S
        while time.monotonic() < deadline and not self._settled():
            time.sleep(0.2)
        first.resume()
        time.sleep(2.0)
        return second

    def _settle(self) -> None:
        until(
            self._settled,
            self.timeout,
            lambda: f"{self.case} settles; {self._explain()}",
        )

    def _settled(self) -> bool:
        try:
            return self.scenario.settled(self.settings)
        except TransientError:
            return False

    def _explain(self) -> str:
        asked = getattr(self.scenario, "explain", None)
        logs = "\n--\n".join(process.text[-1500:] for process in self.processes)
        return f"{asked(self.settings) if asked else ''}\n{logs}"


def play(case: Case, scenario: Scenario, settings: Settings, timeout: float = 90.0) -> Any:
    """Run a scenario under a case on settings that nobody else uses, and give its end state."""
    return Play(case, scenario, settings, timeout).run()


@contextmanager
def consumers(settings: Settings, names: Sequence[str], **variables: str) -> Iterator[dict[str, Process]]:
    """Run consumers by name until the end of the block, then stop them in good order."""
    with ExitStack() as ending:
        running = {name: ending.enter_context(Process(obelus_run(name), settings, **variables)) for name in names}
        yield running
        for process in running.values():
            if process.alive():
                process.terminate()
