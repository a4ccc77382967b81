"""What an expired memory has put out of use stays out of use when its evidence goes (C8, C12).

A slot is settled from its evidence. Without that of the memory that goes, another might stand as if it had never been
replaced, so the evidence of such a one is taken back, as a revert does; its row and its history stay.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime

from consumers.purger.expiry.due import SQL
from consumers.settling.evidence import Ending
from consumers.settling.memory import Memory
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


def keep_quiet(conn: Connection, gone: Set[bytes], rules: Rules) -> set[bytes]:
    """Take back evidence that would bring something back without these memories; the caller holds the locks.

    Returns:
        Those that must wait: something that is in use stands as it does because of them.
    """
    places = [(handle, slot) for handle, slot in conn.execute(SQL.shared_slots, {"ids": list(gone)}).fetchall()]
    if not places:
        return set()
    memories = by_slot(memories_of(conn, places, load_by_handle(conn, {handle for handle, _ in places})))
    endings, now = endings_of(conn, places), clock(conn)
    quiet: set[bytes] = set()
    waiting: set[bytes] = set()
    for at in places:
        slot = memories.get(at, [])
        rest = [memory for memory in slot if memory.id not in gone]
        found = silenced(rest, endings.get(at, ()), rules, now)
        if found is None:
            waiting |= {memory.id for memory in slot} & gone
        else:
            quiet |= found
    if quiet:
        conn.execute(SQL.void, {"ids": list(quiet)})
    return waiting


def silenced(rest: Sequence[Memory], endings: Sequence[Ending], rules: Rules, now: datetime) -> set[bytes] | None:
    """Which of a slot's memories must not speak again, so that all stand as they do now; None where nothing helps."""
    quiet: set[bytes] = set()
    while True:
        told = [Told(row.digest, row.type, () if row.id in quiet else row.evidence) for row in rest]
        standings = settle(told, endings, rules, now)
        pairs = list(zip(rest, standings, strict=True))
        back = {row.id for row, now_is in pairs if now_is.status in _IN_USE and row.status not in _IN_USE}
        if not back:
            break
        quiet |= back
    moved = any(row.status in _IN_USE and now_is.status != row.status for row, now_is in pairs)
    return None if moved else quiet
