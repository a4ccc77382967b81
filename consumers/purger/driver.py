"""Threads that take erasures forward, so that a slow store never keeps a new request from its block.

There are two: one erases, the other looks again at what is gone, which may mean to wait for a log to be cut.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence

from consumers.purger import book
from consumers.purger.registry import Parts
from consumers.purger.sweep import erase, strays
from schemas.errors import TransientError
from schemas.settings import Settings
from stores.database import translate
from streams.metrics import DRIFT

logger = logging.getLogger(__name__)

_IDLE_SECONDS = 0.5
SWEEP_SECONDS = 300.0
"""Between two looks at everything for what came back; the first comes soon after a start."""
_FIRST_SWEEP_SECONDS = 20.0
_CALM_SECONDS, _PATIENCE_SECONDS = 0.5, 5.0
"""Second looks wait for so long a pause between erasures, but no longer than this: both want the same processors."""
EXPIRY_SECONDS = 60.0
"""Between two looks for what is past its time; only the first of a day finds much."""


class Pace:
    """When something was last erased, which second looks give way to."""

    def __init__(self) -> None:
        """Nothing was yet."""
        self._last = -math.inf

    def erasing(self) -> None:
        """Something is being erased."""
        self._last = time.monotonic()

    def wait(self, stopped: threading.Event) -> None:
        """Wait for a pause, for a while."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while (now := time.monotonic()) < min(until, self._last + _CALM_SECONDS):
            stopped.wait(min(until, self._last + _CALM_SECONDS) - now)
            if stopped.is_set():
                return


class Driver:
    """Both threads; what it is told of, is taken up at once."""

    def __init__(self, settings: Settings) -> None:
        """Start nothing yet."""
        self._pace = Pace()
        self._lanes = (Lane(settings, self._pace, watched=False), Lane(settings, self._pace, watched=True))

    def start(self) -> None:
        """Start the threads."""
        for lane in self._lanes:
            lane.start()

    @property
    def session(self) -> str | None:
        """The name under which the thread that erases holds what it is given; None while it has no connection."""
        return self._lanes[0].session

    def wake(self, erasures: Iterable[bytes | book.Held] = ()) -> None:
        """Something is to be erased now: these, and what the book says."""
        self._pace.erasing()
        self._lanes[0].wake(erasures)

    def stop(self, timeout: float = 5.0) -> None:
        """Finish the steps under way; what is left is taken up by the next start."""
        for lane in self._lanes:
            lane.stop()
        for lane in self._lanes:
            lane.join(timeout)


class Lane:
    """One thread, with connections of its own."""

    def __init__(self, settings: Settings, pace: Pace, *, watched: bool) -> None:
        """Take up what is to be erased, or, where ``watched``, what needs a second look."""
        self._settings, self._pace = settings, pace
        self._watched = watched
        self._wake = threading.Event()
        self._told: deque[bytes | book.Held] = deque()
        self.session: str | None = None
        self._stopped = threading.Event()
        self._next_sweep = time.monotonic() + _FIRST_SWEEP_SECONDS
        self._next_expiry = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="watch" if watched else "saga", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self, erasures: Iterable[bytes | book.Held] = ()) -> None:
        """Something is due now."""
        self._told.extend(erasures)
        self._wake.set()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()
        self._wake.set()

    def join(self, timeout: float) -> None:
        """Wait for the step under way."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        while not self._stopped.is_set():
            parts = Parts.open(self._settings)
            try:
                self._rounds(parts)
            except TransientError as error:
                logger.warning("erasures wait: %s", error)
                self._wake.wait(_IDLE_SECONDS)
            except Exception as error:
                # A message may quote a value; what is due is tried again either way.
                logger.error("erasures wait: %s", type(error).__name__)
                self._wake.wait(_IDLE_SECONDS)
            finally:
                self.session = None
                parts.close()

    def _rounds(self, parts: Parts) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            found = self._due(parts)
            for erasure in found:
                if self._watched:
                    self._pace.wait(self._stopped)
                else:
                    self._pace.erasing()
                if self._stopped.is_set():
                    return
                saga = parts.saga()
                self.session = saga.session
                saga.advance(erasure)
            if not found:
                if self._watched:
                    self._sweep(parts)
                elif self._expire(parts):
                    continue
                self._wake.wait(_IDLE_SECONDS)

    def _due(self, parts: Parts) -> Sequence[bytes | book.Held]:
        """What the thread was told of, which saves asking, else what the book says."""
        if self._told:
            return [self._told.popleft()]
        with translate():
            return book.due(parts.erasing(), watched=self._watched)

    def _expire(self, parts: Parts) -> bool:
        """Begin the day's erasure of what is past its time; True where there is any."""
        if time.monotonic() < self._next_expiry:
            return False
        self._next_expiry = time.monotonic() + EXPIRY_SECONDS
        with translate():
            return bool(parts.saga().expiry.open_days())

    def _sweep(self, parts: Parts) -> None:
        """Erase again what lies under a handle that nobody holds; that is never normal."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + SWEEP_SECONDS
        found = strays(parts)
        for stray in found:
            logger.error("%d items of an erased handle in %s", stray.count, stray.entry)
        DRIFT.labels("erased_handle").set(sum(stray.count for stray in found))
        erase(parts, found)
        with translate():
            row = parts.erasing().execute(book.SQL.late).fetchone()
        half, most = row if row else (0, 0)
        if half:
            logger.warning("%d erasures have used half their time, %d four fifths", half, most)
