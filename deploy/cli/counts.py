"""How much of everything there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    from schemas.settings import Settings

_PLAIN = ("turns", "candidates", "dead_letters")
_BY = {"decisions": "outcome", "memories": "status"}


def counts(settings: Settings) -> dict[str, Any]:
    """Count rows and vectors; what cannot be asked counts as None, a missing table as nothing."""
    return {**_rows(settings.database), "vectors": _vectors(settings.qdrant)}


def _rows(address: str) -> dict[str, Any]:
    import psycopg

    try:
        with psycopg.connect(address, autocommit=True, connect_timeout=2) as connection:
            found = _tables(connection)
            plain = {name: _count(connection, name) if name in found else 0 for name in _PLAIN}
            grouped = {
                name: _count_by(connection, name, column) if name in found else {} for name, column in _BY.items()
            }
    except psycopg.OperationalError:
        return dict.fromkeys((*_PLAIN, *_BY))
    return {**plain, **grouped}


def _tables(connection: psycopg.Connection[Any]) -> set[str]:
    names = [*_PLAIN, *_BY]
    query = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
    return {row[0] for row in connection.execute(query, (names,))}


def _count(connection: psycopg.Connection[Any], table: str) -> int:
    from psycopg.sql import SQL, Identifier

    row = connection.execute(SQL("SELECT count(*) FROM {}").format(Identifier(table))).fetchone()
    return int(row[0]) if row else 0


def _count_by(connection: psycopg.Connection[Any], table: str, column: str) -> dict[str, int]:
    from psycopg.sql import SQL, Identifier

    query = SQL("SELECT {0}, count(*) FROM {1} GROUP BY 1 ORDER BY 1")
    rows = connection.execute(query.format(Identifier(column), Identifier(table)))
    return {str(word): int(number) for word, number in rows}


def _vectors(address: str) -> int | None:
    import httpx

    try:
        with httpx.Client(base_url=address, timeout=2) as client:
            names = client.get("/collections").json()["result"]["collections"]
            infos = [client.get(f"/collections/{one['name']}").json()["result"] for one in names]
    except (httpx.HTTPError, KeyError, ValueError):
        return None
    return sum(info["points_count"] or 0 for info in infos)
