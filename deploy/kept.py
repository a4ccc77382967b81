"""A child that is kept alive: restarted with backoff, given up when it does nothing but die."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from deploy.embedded.process import Child, Command, tail

STARTING, RUNNING, RESTARTING, FAILED = "starting", "running", "restarting", "failed"
DEATHS, WITHIN = 5, 30.0
"""So many deaths within so many seconds are a crash loop."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 15.0
_FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)


@dataclass
class Kept:
    """One named child and what became of it.

    Attributes:
        probe: asked while it starts; once it says yes the child counts as running.
    """

    name: str
    command: Command
    log: Path
    probe: Callable[[], bool]
    child: Child | None = None
    state: str = STARTING
    message: str = ""
    restarts: int = 0
    _deaths: deque[float] = field(default_factory=lambda: deque(maxlen=DEATHS))
    _pause: float = _FIRST_PAUSE
    _next_start: float = 0.0
    _started: float = 0.0

    def start(self) -> None:
        """Start it now; from the main thread only."""
        self._started = time.monotonic()
        self.child = Child(self.command, self.log)
        self.state = STARTING

    def tick(self) -> bool:
        """Look after it once; tell whether anything changed."""
        if self.state == FAILED:
            return False
        if self.state == RESTARTING:
            if time.monotonic() < self._next_start:
                return False
            self.restarts += 1
            self.start()
            return True
        if self.child is not None and not self.child.alive():
            self._died(self.child.exit_status or 0)
            return True
        if self.state == STARTING and self.probe():
            self.state = RUNNING
            return True
        return False

    def _died(self, status: int) -> None:
        now = time.monotonic()
        if now - self._started > WITHIN:
            self._pause = _FIRST_PAUSE
        # Killing a child is an operator's right and says nothing about the child.
        if status not in _FROM_OUTSIDE:
            self._deaths.append(now)
        if len(self._deaths) == DEATHS and now - self._deaths[0] <= WITHIN:
            self.state = FAILED
            self.message = (
                f"{self.name} died {DEATHS} times within {WITHIN:.0f} s (last status {status}) "
                f"and is not started again; the end of {self.log}:\n{tail(self.log)}"
            )
            return
        self.state = RESTARTING
        self._next_start = now + self._pause
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)
