"""Connections to PostgreSQL, and what their errors mean to a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors, pq
from psycopg_pool import ConnectionPool, PoolTimeout

from schemas.errors import ConfigurationError, PartUnavailable, TransientError

CONNECT_SECONDS = 5
# A statement that waits longer than this for a lock gives way; the batch is tried again.
_OPTIONS = "-c lock_timeout=10s -c idle_in_transaction_session_timeout=60s -c timezone=UTC"
# A statement for a batch is planned for that batch: a plan made for one turn, or while a table was still empty, reads
# whole tables for a thousand.
_FOR_BATCHES = f"{_OPTIONS} -c plan_cache_mode=force_custom_plan"

# Races that vanish when the transaction is repeated.
_RACES = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.UniqueViolation,
    errors.ForeignKeyViolation,
    errors.QueryCanceled,
)
_SETTINGS = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InvalidCatalogName,
    errors.UndefinedTable,
    errors.UndefinedColumn,
    errors.InsufficientPrivilege,
)

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]


class BinaryCursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor whose answers come in binary: ids and sealed bodies are bytes, and hex doubles them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Ask for binary answers."""
        super().__init__(*args, **kwargs)
        self.format = pq.Format.BINARY


def _arguments(application: str) -> dict[str, Any]:
    return {
        "cursor_factory": BinaryCursor,
        "application_name": application,
        "connect_timeout": CONNECT_SECONDS,
        "options": _OPTIONS,
        # A dead server is noticed in about twenty seconds instead of two hours.
        "keepalives_idle": 5,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }


def connect(dsn: str, autocommit: bool = False, application: str = "obelus", *, batches: bool = False) -> Connection:
    """Open a connection; rows are tuples.

    Args:
        dsn: PostgreSQL address, a URI or key words.
        autocommit: False opens a transaction with the first statement.
        application: what the server's list of sessions shows.
        batches: True plans every statement for the rows it is given; for one row that costs as much as running it.

    Raises:
        PartUnavailable: the server cannot be reached.
    """
    with translate():
        arguments = _arguments(application) | {"options": _FOR_BATCHES if batches else _OPTIONS}
        return psycopg.connect(dsn, autocommit=autocommit, **arguments)


def pool(
    dsn: str,
    *,
    smallest: int = 1,
    largest: int = 8,
    application: str = "obelus",
    autocommit: bool = False,
    options: str = "",
) -> ConnectionPool[Connection]:
    """Give an opened pool of connections for request handlers.

    Args:
        dsn: PostgreSQL address.
        smallest: connections kept open.
        largest: connections at most.
        application: what the server's list of sessions shows.
        autocommit: True leaves out the transaction around single queries.
        options: further server settings, each ``-c name=value``.
    """
    arguments = _arguments(application) | {"autocommit": autocommit}
    arguments["options"] = f"{_OPTIONS} {options}"
    return ConnectionPool(
        dsn,
        min_size=smallest,
        max_size=largest,
        kwargs=arguments,
        timeout=CONNECT_SECONDS,
        open=True,
    )


class Link:
    """One connection for one thread, opened when first used and again when it was lost."""

    def __init__(self, dsn: str, application: str = "obelus") -> None:
        """Connect nowhere yet."""
        self._dsn, self._application = dsn, application
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a transaction that commits at the end, or is undone by an exception.

        Raises:
            PartUnavailable: the server went away; where it did so at the commit, it may have been stored.
            TransientError: a race; nothing was stored.
        """
        with translate():
            connection = self._opened()
            with connection.transaction():
                yield connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._dsn, autocommit=True, application=self._application)
        return self._connection


@contextmanager
def translate() -> Iterator[None]:
    """Turn the driver's errors into those of the one error tree.

    The driver's message may quote values, so only the SQL state is kept.

    Raises:
        TransientError: a race: serialisation, deadlock, lock time-out, two inserts of one key.
        PartUnavailable: the server cannot be reached or went away.
        ConfigurationError: wrong password, database, rights, or a database that is not migrated.
    """
    try:
        yield
    except _RACES as error:
        raise TransientError(_named(error)) from None
    except _SETTINGS as error:
        raise ConfigurationError(f"{_named(error)}; has `obelus migrate` run?") from None
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise PartUnavailable(_named(error)) from None
    except psycopg.InterfaceError as error:
        # The driver says so of a connection that was closed under it.
        raise PartUnavailable(_named(error)) from None


def value(conn: Connection, query: str, arguments: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
    """The one value of a query that always gives a row, as an aggregate or a clock does."""
    row = conn.execute(query, arguments).fetchone()
    if row is None:
        raise ValueError("the query gave no row")
    return row[0]


def _named(error: Exception) -> str:
    state = getattr(error, "sqlstate", None) or "no connection"
    return f"PostgreSQL: {type(error).__name__} ({state})"


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Turn rows into the columns that ``unnest`` takes; ``width`` columns even where there is no row."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
