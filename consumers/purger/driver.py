"""A thread that takes erasures forward, so that a slow store never keeps a new request from its block."""

from __future__ import annotations

import logging
import threading
import time

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


class Driver:
    """Owns connections of its own; what it is told of, it takes up at once."""

    def __init__(self, settings: Settings) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._next_sweep = time.monotonic() + _FIRST_SWEEP_SECONDS
        self._thread = threading.Thread(target=self._run, name="saga", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Something is due now."""
        self._wake.set()

    def stop(self, timeout: float = 5.0) -> None:
        """Finish the step under way; what is left is taken up by the next start."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def alive(self) -> bool:
        """False where the thread has ended, which it does only when told."""
        return self._thread.is_alive()

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
                parts.close()

    def _rounds(self, parts: Parts) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            with translate():
                found = book.due(parts.erasing())
            for erasure in found:
                if self._stopped.is_set():
                    return
                parts.saga().advance(erasure)
            if not found:
                self._sweep(parts)
                self._wake.wait(_IDLE_SECONDS)

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
