"""One leashed child process with a log file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_LEASH = Path(__file__).with_name("leash.py")
LOG_LIMIT = 8 * 1024 * 1024
"""A log above this size is moved aside; one older generation is kept."""


@dataclass(frozen=True)
class Command:
    """What to run and how it ends."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = "-"
    stop_signal: int = signal.SIGTERM
    orphan_signal: int = signal.SIGKILL
    """Sent by the kernel when the supervisor is gone."""


def leashed(argv: Sequence[str], orphan_signal: int = signal.SIGKILL, user: str = "-") -> list[str]:
    """Give the command line that runs another one and ties it to this process."""
    leash = [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid())]
    return [*leash, str(int(orphan_signal)), user, *argv]


class Child:
    """A child that was started; start it from the main thread only (see `leash`)."""

    def __init__(self, command: Command, log: Path) -> None:
        """Start it at once, its output appended to `log`."""
        self.command = command
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        trim(log)
        with log.open("ab") as output:
            # A session of its own: Ctrl-C reaches the supervisor alone, which stops in order.
            self._process = subprocess.Popen(  # noqa: S603
                leashed(command.argv, command.orphan_signal, command.user),
                env={**os.environ, **command.env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id; the leash becomes the program, so it stays the same."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""
        return self._process.poll()

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal; one that has ended is left alone."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def terminate(self) -> None:
        """Ask it to stop; `wait` gives it time and then insists."""
        self.signal(self.command.stop_signal)

    def wait(self, timeout: float) -> None:
        """Wait for the end, then kill."""
        try:
            self._process.wait(max(0.0, timeout))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def trim(log: Path, limit: int = LOG_LIMIT) -> None:
    """Move what a full log holds aside and empty it in place, as its writer holds it open."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > limit:
            log.with_suffix(".log.1").write_bytes(log.read_bytes())
            os.truncate(log, 0)


def tail(log: Path, lines: int = 12) -> str:
    """Give a log's last lines."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
