"""All that is held of a person, values opened, with counts (U2, D12). One snapshot, nothing paged away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
from psycopg import IsolationLevel

from recall.people import Life, find
from recall.shelf import EVERY
from recall.truth import SQL
from stores.artefacts import of_person
from stores.database import Connection, translate
from stores.memory_records import load_memories, stamp
from stores.vault import Vault

SEALED = ("turns", "controls", "candidates", "sources", "traces")
PLAIN = ("authored", "decisions", "versions", "endings", "refusals", "security_events")
CLASSES = ("memories", *SEALED, *PLAIN, "artefacts")
"""What an export has a list of; the manifest counts each."""


def export(connection: Connection, vault: Vault, tenant: str, subject: str) -> dict[str, Any]:
    """Give everything of a person, in one snapshot of PostgreSQL.

    Args:
        connection: in no transaction; its isolation level is changed.
        vault: for the keys.
        tenant: natural id.
        subject: natural id.

    Raises:
        KeyMissing: a live handle has no key, or a row does not open: an export is whole or it is none.
    """
    with translate():
        connection.autocommit = False
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        life = find(connection, vault, tenant, subject)
        found: dict[str, list[Any]] = {name: [] for name in CLASSES}
        if life is not None:
            found["memories"] = [
                record.as_json() for record in load_memories(connection, life.keys, life.row.epoch, EVERY)
            ]
            for name in (*SEALED, *PLAIN):
                found[name] = _rows(connection, life, name)
        found["artefacts"] = _artefacts(connection, vault, tenant, subject, life)
        connection.rollback()
    return {
        "tenant": tenant,
        "subject": subject,
        "consent": None if life is None else life.row.consent.value,
        "manifest": {name: len(rows) for name, rows in found.items()},
        **found,
    }


def _artefacts(
    connection: Connection, vault: Vault, tenant: str, subject: str, life: Life | None
) -> list[dict[str, Any]]:
    """What outside owners have made; of an erased person, what they were told to erase and have not."""
    lookup = vault.lookup(tenant)
    if lookup is None:
        return []
    return of_person(connection, lookup, lookup.subject(subject), life.keys.handle if life else None)


def _rows(connection: Connection, life: Life, name: str) -> list[dict[str, Any]]:
    query = getattr(SQL, f"export_{name}")
    cursor = connection.execute(query, {"handle": life.keys.handle, "ref": life.row.ref})
    columns = [column.name for column in cursor.description or ()]
    return [_row(life, columns, row, sealed=name in SEALED) for row in cursor.fetchall()]


def _row(life: Life, columns: Sequence[str], row: Sequence[Any], *, sealed: bool) -> dict[str, Any]:
    """The first column names the row; of a sealed one the second is its body."""
    opened: dict[str, Any] = orjson.loads(life.keys.open(row[0], row[1])) if sealed else {}
    values = {name: _plain(value) for name, value in zip(columns, row, strict=True) if name != "body"}
    return values | {name: value for name, value in opened.items() if name not in values}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return stamp(value) if isinstance(value, datetime) else value
