"""The SQLite file under the embedded vault: durable at commit, bytes gone at delete, many processes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from schemas.errors import ConfigurationError, PartUnavailable, TransientError

T = TypeVar("T")

BUSY_MILLISECONDS = 10_000
# Far below the variable limit of any SQLite build (32,766), and few distinct statement texts.
CHUNK = 500
LONGEST_PATH = 504
"""Bytes that SQLite leaves to the path of a file that has a journal beside it."""

_PRAGMAS = (
    # A rollback journal is unlinked at commit; a write-ahead log would keep old pages.
    "PRAGMA journal_mode = DELETE",
    # Also syncs the folder after the journal is unlinked, so that a commit survives a power cut.
    "PRAGMA synchronous = EXTRA",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)


class VaultFile:
    """A SQLite file with one connection a thread and short transactions."""

    def __init__(self, path: Path) -> None:
        """Open the file, creating it (0600) and its folder (0700) where they do not exist.

        Raises:
            PartUnavailable: the file cannot be opened.
            ConfigurationError: the file is no vault, or its path is too long.
        """
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opening = threading.Lock()
        _make(path)
        self._connection()

    def paths(self) -> list[Path]:
        """Return every file that may hold bytes of the vault."""
        return [self._path, *self._path.parent.glob(self._path.name + "-*")]

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._opening:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._local = threading.local()

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one query outside any transaction."""
        with _translated():
            return self._connection().execute(sql, values).fetchall()

    def read_in(self, sql: str, items: Iterable[T]) -> Iterator[tuple[Any, ...]]:
        """Run a query for many values at once; ``{}`` in ``sql`` is where the list goes."""
        for chunk in chunks(items):
            yield from self.read(sql.format(_marks(len(chunk))), chunk)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock for a block; durable when it ends, nothing when it raises.

        A block within one of the same thread is part of it.
        """
        with _translated():
            connection = self._connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def delete_in(self, sql: str, items: Iterable[T]) -> int:
        """Delete many rows in one transaction and return how many there were; ``{}`` takes the list."""
        gone = 0
        with self.write() as tx:
            for chunk in chunks(items):
                gone += tx.execute(sql.format(_marks(len(chunk))), chunk).rowcount
        return gone

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            with _translated():
                found = _open(self._path)
            self._local.connection = found
            with self._opening:
                self._opened.append(found)
        return found


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Cut items into lists that fit into one statement."""
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def check_length(path: Path) -> None:
    """See to it that SQLite can open a file there.

    Raises:
        ConfigurationError: its path is too long; the message says by how much.
    """
    excess = len(os.fsencode(os.path.realpath(path))) - LONGEST_PATH
    if excess > 0:
        raise ConfigurationError(
            f"the vault's path may be {LONGEST_PATH} bytes long, and {path} is {excess} too long: "
            "take a shorter OBELUS_HOME, or set OBELUS_VAULT"
        )


def _marks(count: int) -> str:
    return ",".join("?" * count)


def _make(path: Path) -> None:
    check_length(path)
    try:
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Created before SQLite opens it: the journal takes the rights of the file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        if path.stat().st_mode & 0o077:
            raise ConfigurationError(f"{path} can be read by others: chmod 600 it")
    except OSError as error:
        raise PartUnavailable(f"the vault {path} cannot be opened: {error.strerror}") from None


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False)
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    return connection


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise TransientError("the vault is busy") from None
        raise PartUnavailable(f"the vault cannot be used: {error.sqlite_errorname}") from None
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise ConfigurationError(f"the vault file is damaged or no vault: {name}") from None
