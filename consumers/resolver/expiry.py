"""What time demands of memories and candidates, in bounded steps (C12, P6)."""

from __future__ import annotations

from typing import Any

from schemas.words import MemoryStatus
from stores.database import Connection
from stores.sql import load
from stores.subjects import load_by_handle, lock_handles

_SQL = load("consumers.resolver", "queries.sql")

MEMORIES, CANDIDATES = 500, 2000
"""How many of each one step takes up; the next step goes on."""

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


def forget_candidates(tx: Connection, limit: int = CANDIDATES) -> int:
    """Remove decided candidates past their retention (W2); their ids stay in the lineage. Return how many."""
    return tx.execute(_SQL.forget_candidates, (limit,)).rowcount


def totals(tx: Connection) -> dict[str, int]:
    """Count memories by status; a status without any is 0, so that a gauge falls again."""
    rows = tx.execute(_SQL.totals).fetchall()
    return {status.value: 0 for status in MemoryStatus} | {row[0]: row[1] for row in rows}
