"""What time demands of memories, in bounded steps (C12, P6); the purger takes what has long been past its time."""

from __future__ import annotations

from typing import Any

from schemas.words import MemoryStatus
from stores.database import Connection
from stores.sql import load
from stores.subjects import load_by_handle, lock_handles

_SQL = load("consumers.resolver", "queries.sql")

MEMORIES = 500
"""How many one step takes up; the next step goes on."""

Changed = tuple[bytes, int, str, bytes, int]
"""Memory, version, status, handle, epoch."""


def expire(tx: Connection, limit: int = MEMORIES) -> list[Changed]:
    """End what is past its time or was never answered, by the database's clock; return the new versions."""
    due: list[tuple[Any, ...]] = tx.execute(_SQL.due, (limit, limit)).fetchall()
    if not due:
        return []
    handles = {row[1] for row in due}
    lock_handles(tx, handles)
    alive = load_by_handle(tx, handles)
    ids = [row[0] for row in due if row[1] in alive]
    return [
        (memory, version, "expired", handle, epoch)
        for memory, version, handle, epoch in tx.execute(_SQL.expire, (ids,)).fetchall()
    ]


def totals(tx: Connection) -> dict[str, int]:
    """Count memories by status; a status without any is 0, so that a gauge falls again."""
    rows = tx.execute(_SQL.totals).fetchall()
    return {status.value: 0 for status in MemoryStatus} | {row[0]: row[1] for row in rows}
