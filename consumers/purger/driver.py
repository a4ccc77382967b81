"""A thread that takes erasures forward, so that a slow store never keeps a new request from its block."""

from __future__ import annotations

import logging
import threading

from consumers.purger import book
from consumers.purger.registry import Parts
from schemas.errors import TransientError
from schemas.settings import Settings
from stores.database import translate

logger = logging.getLogger(__name__)

_IDLE_SECONDS = 0.5


class Driver:
    """Owns connections of its own; what it is told of, it takes up at once."""

    def __init__(self, settings: Settings) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._wake = threading.Event()
        self._stopped = threading.Event()
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
                self._wake.wait(_IDLE_SECONDS)
