"""The worker's one connection to PostgreSQL, and the slot that it holds by it."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import psycopg

from schemas.errors import ConfigurationError, PartUnavailable, UnknownOutcome
from stores.database import Connection, connect, translate
from stores.sql import load

logger = logging.getLogger(__name__)
_SQL = load("consumers", "session.sql")

SLOTS = 1024
_PATIENCE_S = 15.0
"""How long a slot that was asked for by name may still be held by a dying predecessor."""


class SlotTaken(ConfigurationError):
    """Another process holds this worker's slot: two must not share a transactional id."""


class Session:
    """Opens transactions; connects, and takes its slot again, whenever it must.

    The slot is a session-level advisory lock, so it ends with the process, however that ends. It
    makes ``transactional.id`` stable over restarts and unique among the living.
    """

    def __init__(
        self,
        dsn: str,
        consumer: str,
        slot: int | None = None,
        timed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Connect nowhere yet.

        Args:
            dsn: address of the truth.
            consumer: whose slots these are.
            slot: the one to take, or None for the lowest that is free.
            timed: wraps each commit.
        """
        self._timed = timed
        self._dsn, self._consumer, self._slot = dsn, consumer, slot
        self._connection: Connection | None = None

    @property
    def slot(self) -> int:
        """The slot held; known after the first `open`."""
        if self._slot is None:
            raise RuntimeError("no slot before open()")
        return self._slot

    def open(self) -> None:
        """Connect and take a slot.

        Raises:
            PartUnavailable: the server cannot be reached.
            SlotTaken: the slot asked for is held by another process.
        """
        self._connected()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a transaction that commits at the end, or is undone by an exception.

        Raises:
            PartUnavailable: the server went away; nothing was stored.
            TransientError: a race; nothing was stored.
            UnknownOutcome: the answer to the commit was lost.
        """
        connection = self._connected()
        with translate():
            try:
                yield connection
            except BaseException as error:
                self._undo(error)
                raise
            self._commit(connection)

    def _commit(self, connection: Connection) -> None:
        try:
            with self._timed():
                connection.commit()
        except psycopg.Error as error:
            self.close()
            raise UnknownOutcome(f"PostgreSQL: commit, {type(error).__name__}") from None

    def _undo(self, error: BaseException) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            connection.rollback()
        except psycopg.Error:
            self.close()
        if isinstance(error, psycopg.Error) and connection.closed:
            # Among them that the server ended a session which was idle in a transaction.
            self.close()
            raise PartUnavailable(f"PostgreSQL: {type(error).__name__}") from None

    def _connected(self) -> Connection:
        if self._connection is not None and self._connection.closed:
            self.close()
        if self._connection is None:
            connection = connect(self._dsn, application=f"obelus {self._consumer}", batches=True)
            try:
                with translate():
                    connection.execute(_SQL.settings)
                    self._slot = self._take(connection)
                    connection.commit()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _take(self, connection: Connection) -> int:
        if self._slot is not None:
            return self._insist(connection, self._slot)
        for slot in range(SLOTS):
            if self._try(connection, slot):
                return slot
        raise SlotTaken

    def _insist(self, connection: Connection, slot: int) -> int:
        deadline = time.monotonic() + _PATIENCE_S
        while not self._try(connection, slot):
            if time.monotonic() > deadline:
                raise SlotTaken
            time.sleep(0.1)
        return slot

    def _try(self, connection: Connection, slot: int) -> bool:
        # The two-key form: subjects are locked by one 64-bit key, and the two never meet.
        family = zlib.crc32(self._consumer.encode()) - (1 << 31)
        row = connection.execute(_SQL.take_slot, {"family": family, "slot": slot}).fetchone()
        return bool(row and row[0])

    def close(self) -> None:
        """Give connection and slot back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
