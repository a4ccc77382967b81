"""What the API process does beside answering: it writes last uses, and knows whether its parts answer."""

from __future__ import annotations

import logging
import threading

from recall.api.context import Context
from schemas.errors import ObelusError
from stores.copies import lapse
from stores.database import translate

log = logging.getLogger(__name__)

_PERIOD_SECONDS = 2.0
_ROUNDS_A_LAPSE = 30
# Two missed rounds and a bit: the database has not answered since.
_STALE_ROUNDS = 3


class Housekeeping:
    """A thread of small chores."""

    def __init__(self, context: Context) -> None:
        """Take the parts."""
        self._context = context
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)
        self._missed = 0
        self._rounds = 0

    def start(self) -> None:
        """Warm up what is slow the first time, then do the chores until stopped."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is left and end."""
        self._stopping.set()
        self._thread.join(_PERIOD_SECONDS)

    def ready(self) -> tuple[bool, str]:
        """Say whether recalls can be answered."""
        if self._missed >= _STALE_ROUNDS:
            return False, "PostgreSQL does not answer"
        return True, ""

    def _run(self) -> None:
        try:
            # A model takes seconds to load, and the first asker should not wait for it.
            self._context.recall.warm()
        except Exception as error:
            log.warning("embedding model: %s", type(error).__name__)
        while not self._stopping.wait(_PERIOD_SECONDS):
            self._round()
        self._round()

    def _round(self) -> None:
        try:
            with translate(), self._context.pool.connection() as connection:
                if self._rounds % _ROUNDS_A_LAPSE == 0:
                    lapse(connection, "cached")
                else:
                    connection.execute("SELECT 1")
            self._rounds += 1
            self._context.recall.usage.write()
            self._missed = 0
        except ObelusError as error:
            self._missed += 1
            log.warning("housekeeping: %s", type(error).__name__)
