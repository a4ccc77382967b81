"""What an expired memory has put out of use stays out of use when its evidence goes (C8, C12).

A slot is settled from its evidence. Without that of the memory that goes, another might stand as if it had never been
replaced, so the evidence of such a one is taken back, as a revert does; its row and its history stay.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime

from consumers.purger.expiry.due import SQL
from consumers.settling.evidence import Ending
from consumers.settling.memory import Memory, Slot
from consumers.settling.read import by_slot, clock, endings_of, memories_of
from consumers.settling.settle import Rules, Told, settle
from schemas.words import MemoryStatus
from stores.database import Connection
from stores.subjects import load_by_handle

_IN_USE = frozenset(
    {
        MemoryStatus.ACTIVE,
        MemoryStatus.CONFLICTED,
        MemoryStatus.SUGGESTED,
        MemoryStatus.PENDING,
        MemoryStatus.QUARANTINED,
    }
)


def keep_quiet(conn: Connection, gone: Set[bytes], rules: Rules) -> list[Slot]:
    """Take back evidence that would bring something back without these memories; the caller holds the locks.

    Returns:
        Slots in which something in use stands otherwise without them: a conflict that loses its other side is none.
    """
    places = [(handle, slot) for handle, slot in conn.execute(SQL.shared_slots, {"ids": list(gone)}).fetchall()]
    if not places:
        return []
    memories = by_slot(memories_of(conn, places, load_by_handle(conn, {handle for handle, _ in places})))
    endings, now = endings_of(conn, places), clock(conn)
    quiet: set[bytes] = set()
    moved: list[Slot] = []
    for at in places:
        rest = [memory for memory in memories.get(at, []) if memory.id not in gone]
        found, stands = silenced(rest, endings.get(at, ()), rules, now)
        quiet |= found
        if not stands:
            moved.append(at)
    if quiet:
        conn.execute(SQL.void, {"ids": list(quiet)})
    return moved


def silenced(rest: Sequence[Memory], endings: Sequence[Ending], rules: Rules, now: datetime) -> tuple[set[bytes], bool]:
    """Which of a slot's memories must not speak again, and whether what is in use then stands as it does now."""
    quiet: set[bytes] = set()
    while True:
        told = [Told(row.digest, row.type, () if row.id in quiet else row.evidence) for row in rest]
        standings = settle(told, endings, rules, now)
        pairs = list(zip(rest, standings, strict=True))
        back = {row.id for row, now_is in pairs if now_is.status in _IN_USE and row.status not in _IN_USE}
        if not back:
            break
        quiet |= back
    return quiet, all(now_is.status == row.status for row, now_is in pairs if row.status in _IN_USE)
