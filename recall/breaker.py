"""A circuit breaker: a part that keeps failing is left alone for a while instead of being waited for (R8)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """Opens after some failures in a row; after a pause one caller may try again.

    Thread safe; the lock is held for an increment only.
    """

    def __init__(self, failures: int = 3, pause: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Take how many failures open it and for how many seconds it stays open."""
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._retry_at = 0.0

    @property
    def open(self) -> bool:
        """True while calls should not be tried; the first caller after the pause gets False, the others wait on."""
        if self._failures < self._limit:
            return False
        with self._lock:
            now = self._clock()
            if now < self._retry_at:
                return True
            self._retry_at = now + self._pause
            return False

    def succeeded(self) -> None:
        """Close it."""
        self._failures = 0

    def failed(self) -> None:
        """Count a failure."""
        with self._lock:
            self._failures += 1
            self._retry_at = self._clock() + self._pause
