"""The ledger: an intent before each write, its close after it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from consumers.indexer.model import Result, Write
from stores.database import Connection
from stores.sql import load
from stores.subjects import lock_handles
from stores.vectors import TIMEOUT_SECONDS

_SQL = load("consumers.indexer", "queries.sql")

LEASE_SECONDS = 3 * TIMEOUT_SECONDS
"""How long an intent keeps the purger waiting and others away. Longer than the vector time-out, so that a write that
is still under way, answered or not, has an intent; renewed before a write that comes late."""


def open_intents(tx: Connection, result: Result) -> None:
    """Say what will be written and removed, before it is; each point with its parent."""
    if result.writes:
        points = [write.point for write in result.writes]
        rows = {
            "points": [point.id for point in points],
            "memories": [point.memory for point in points],
            "versions": [point.version for point in points],
            "handles": [point.handle for point in points],
            "epochs": [point.epoch for point in points],
        }
        tx.execute(_SQL.open_intents, rows | {"lease": LEASE_SECONDS})
        tx.execute(_SQL.add_lineage, rows)
    mark_removals(tx, [entry.point for entry in result.removals])


def mark_removals(tx: Connection, points: Sequence[bytes]) -> None:
    """Say which points will be removed."""
    if points:
        tx.execute(_SQL.mark_removals, {"points": list(points), "lease": LEASE_SECONDS})


def renew(tx: Connection, writes: Sequence[Write]) -> set[bytes]:
    """Prolong intents under the lock; return those that may still be written."""
    _lock(tx, writes)
    rows = tx.execute(_SQL.renew, {"points": _ids(writes), "lease": LEASE_SECONDS}).fetchall()
    return {row[0] for row in rows}


def close(tx: Connection, writes: Sequence[Write]) -> set[bytes]:
    """Check versions and epochs again under the lock and close the intents that still hold.

    Returns:
        The points that were written and have no right to be there any more; marked as to be removed.
    """
    _lock(tx, writes)
    wanted = _ids(writes)
    closed = [row[0] for row in tx.execute(_SQL.close, {"points": wanted}).fetchall()]
    made_from = {write.point.id: write.made_from for write in writes}
    tx.execute(_SQL.note_indexed, {"points": closed, "made_from": [made_from[point] for point in closed]})
    moved = set(wanted).difference(closed)
    mark_removals(tx, list(moved))
    _raise_generation(tx, {write.point.handle for write in writes})
    return moved


def forget(tx: Connection, points: Collection[bytes], handles: Collection[bytes]) -> None:
    """Drop the ledger rows of points that are gone from the index."""
    tx.execute(_SQL.forget, {"points": list(points)})
    _raise_generation(tx, handles)


def lapsed(tx: Connection, limit: int) -> list[bytes]:
    """Take over intents and removals whose worker did not come back; return their memories."""
    rows = tx.execute(_SQL.lapsed, {"limit": limit, "lease": LEASE_SECONDS}).fetchall()
    return [row[0] for row in rows]


def unindexed(tx: Connection, limit: int, grace: float) -> list[bytes]:
    """Return active memories that have been missing from the index for ``grace`` seconds."""
    rows = tx.execute(_SQL.unindexed, {"limit": limit, "grace": grace}).fetchall()
    return [row[0] for row in rows]


def _ids(writes: Sequence[Write]) -> list[bytes]:
    return [write.point.id for write in writes]


def _lock(tx: Connection, writes: Sequence[Write]) -> None:
    lock_handles(tx, {write.point.handle for write in writes})


def _raise_generation(tx: Connection, handles: Collection[bytes]) -> None:
    tx.execute(_SQL.raise_generation, {"handles": list(handles)})
