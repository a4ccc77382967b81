"""Bring a database to the tables that this version needs."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict
from yoyo import get_backend, read_migrations

from schemas.errors import ConfigurationError
from stores.database import connect, translate

# Any number, as long as every version of Obelus takes the same one.
_LOCK = 0x0BE1_0500


def migrate(dsn: str) -> list[str]:
    """Apply what is missing of ``schemas/migrations``; safe to run at once from several processes.

    Returns:
        Names of the migrations that were applied now, in order.

    Raises:
        PartUnavailable: the server cannot be reached.
        ConfigurationError: the database was written by a newer version.
    """
    # yoyo's own lock is a row that outlives a killed process; this one ends with the session.
    with connect(dsn, autocommit=True, application="obelus migrate") as guard, translate():
        guard.execute("SET lock_timeout = 0")
        guard.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        return _apply(dsn)


def pending(dsn: str) -> list[str]:
    """Return the names of the migrations that `migrate` would apply."""
    with as_file(files("schemas").joinpath("migrations")) as folder:
        backend = get_backend(_address(dsn))
        try:
            return [step.id for step in backend.to_apply(read_migrations(str(folder)))]
        finally:
            backend.connection.close()


def _apply(dsn: str) -> list[str]:
    with as_file(files("schemas").joinpath("migrations")) as folder:
        steps = read_migrations(str(folder))
        backend = get_backend(_address(dsn))
        try:
            backend.ensure_internal_schema_updated()
            _refuse_newer(backend, {step.id for step in steps})
            wanted = backend.to_apply(steps)
            backend.apply_migrations(wanted)
            return [step.id for step in wanted]
        finally:
            backend.connection.close()


def _refuse_newer(backend: Any, known: set[str]) -> None:
    rows = backend.execute("SELECT migration_id FROM _yoyo_migration").fetchall()
    unknown = sorted({row[0] for row in rows} - known)
    if unknown:
        raise ConfigurationError(f"the database holds tables of a newer version: {unknown[0]}")


def _address(dsn: str) -> str:
    """Spell an address the way yoyo reads it; everything goes into the query, sockets included."""
    parts = conninfo_to_dict(dsn)
    database = str(parts.pop("dbname", "") or "postgres")
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in parts.items())
    return f"postgresql+psycopg:///{quote(database, safe='')}?{query}"
