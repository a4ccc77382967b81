"""Connections for the read side: no transaction around a single query, and no query that outlives its asker."""

from __future__ import annotations

from psycopg_pool import ConnectionPool

from stores.database import Connection, pool

# What recall writes (traces, last use) may be lost with PostgreSQL's machine, so nobody waits for the disk.
_OPTIONS = "-c statement_timeout=500ms -c synchronous_commit=off"


def reading_pool(dsn: str, largest: int) -> ConnectionPool[Connection]:
    """Give a pool of autocommit connections."""
    return pool(
        dsn, smallest=min(2, largest), largest=largest, application="obelus recall", autocommit=True, options=_OPTIONS
    )
