"""When a memory was last used (C11, U1): gathered in memory and written now and then, off the path of a recall."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from psycopg_pool import ConnectionPool

from recall.truth import SQL
from stores.database import Connection, translate

_MOST = 10_000


class Usage:
    """Ids of memories that were given out since the last write; losing them loses a time stamp and nothing else."""

    def __init__(self, pool: ConnectionPool[Connection]) -> None:
        """Take the pool to write through."""
        self._pool = pool
        self._lock = threading.Lock()
        self._ids: set[bytes] = set()

    def add(self, ids: Iterable[bytes]) -> None:
        """Note that these were given out."""
        with self._lock:
            if len(self._ids) < _MOST:
                self._ids.update(ids)

    def write(self) -> None:
        """Write what was noted.

        Raises:
            TransientError: PostgreSQL did not take it; what was noted is dropped.
        """
        with self._lock:
            ids, self._ids = self._ids, set()
        if ids:
            with translate(), self._pool.connection() as connection:
                connection.execute(SQL.used, {"ids": sorted(ids)})
