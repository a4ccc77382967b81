"""Health means progress: a process that makes none ends itself and is started again.

Watched from a thread of its own: that the loop turns at all, that positions move while there is
something to read, and that a call which is known to hang comes back. A process that was suspended
counts no time: the thread counts its own looks, not the clock.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

STUCK = 75
"""Exit status of a process that made no progress; by custom "try again"."""
_LOOK_S = 1.0


class Progress:
    """What the loop tells the watchdog; written by one thread, read by others."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self.turns = 0
        self.moves = 0
        self.lag: dict[str, int] = {}
        self.trouble = ""
        self.calls = 0
        self.limit: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """A call must come back in this time, whatever it makes of its own time-out."""
        self.calls += 1
        self.limit = seconds
        try:
            yield
        finally:
            self.limit = None

    def turn(self) -> None:
        """The loop has come round, or waits knowingly."""
        self.turns += 1

    def moved(self) -> None:
        """A position has moved."""
        self.moves += 1

    @property
    def behind(self) -> int:
        """Records that wait, as last counted."""
        return sum(self.lag.values())


class Watchdog:
    """Counts seconds without progress."""

    def __init__(
        self,
        progress: Progress,
        stuck_after: float,
        idle_after: float,
        end: Callable[[int], None] = os._exit,
    ) -> None:
        """Watch nothing yet.

        Args:
            progress: what the loop writes.
            stuck_after: seconds in which the loop must turn.
            idle_after: seconds in which a position must move while there is lag.
            end: ends the process at once; a stuck thread cannot be asked to.
        """
        self._progress, self._end = progress, end
        self._stuck_after, self._idle_after = stuck_after, idle_after
        self._turns, self._moves, self._calls = progress.turns, progress.moves, progress.calls
        self.still = 0.0
        self.unmoved = 0.0
        self.called = 0.0

    def look(self, passed: float = _LOOK_S) -> None:
        """Take note after ``passed`` seconds, and end the process where it is due."""
        progress = self._progress
        self.still = 0.0 if progress.turns != self._turns else self.still + passed
        moved = progress.moves != self._moves or not progress.behind
        self.unmoved = 0.0 if moved else self.unmoved + passed
        limit = progress.limit
        self.called = self.called + passed if limit is not None and progress.calls == self._calls else 0.0
        self._turns, self._moves, self._calls = progress.turns, progress.moves, progress.calls
        if limit is not None and self.called > limit:
            self._stop(f"a call has not come back for {self.called:.0f} s")
        elif self.still > self._stuck_after:
            self._stop(f"the loop has not turned for {self.still:.0f} s")
        elif self.unmoved > self._idle_after:
            behind = progress.behind
            self._stop(f"no position has moved for {self.unmoved:.0f} s, {behind} records wait")

    def _stop(self, why: str) -> None:
        logger.critical("%s: ending", why)
        # Names of functions only, no values: shows where the loop is caught.
        faulthandler.dump_traceback(file=sys.stderr)
        self._end(STUCK)

    def readiness(self) -> tuple[bool, str]:
        """Say whether there is progress, for ``/readyz``."""
        if self.still > self._stuck_after / 4:
            return False, f"the loop has not turned for {self.still:.0f} s"
        if self.unmoved > self._idle_after / 4:
            return False, f"no position has moved for {self.unmoved:.0f} s"
        return not self._progress.trouble, self._progress.trouble or "progress"

    def start(self) -> None:
        """Look once a second from a thread."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(_LOOK_S)
            self.look()
