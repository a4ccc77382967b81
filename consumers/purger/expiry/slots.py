"""What an expired memory has put out of use stays out of use when its evidence goes (C8, C12).

A slot is settled from its evidence. Without that of the memory that goes, another might stand as if it had never been
replaced, so the evidence of such a one is taken back, as a revert does; its row and its history stay.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime

from consumers.purger.expiry.due import SQL
from consumers.purger.narrow.remain import Row, clock, endings_in, rows_in
from consumers.resolver.evidence import Ending
from consumers.resolver.settle import Rules, Told, settle
from schemas.words import MemoryStatus
from stores.database import Connection

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
    places = conn.execute(SQL.shared_slots, {"ids": list(gone)}).fetchall()
    if not places:
        return set()
    named = ([row[0] for row in places], [row[1] for row in places])
    rows, endings, now = rows_in(conn, named), endings_in(conn, named), clock(conn)
    quiet: set[bytes] = set()
    waiting: set[bytes] = set()
    for _, slot in places:
        rest = [row for row in rows[slot] if row.id not in gone]
        found = silenced(rest, endings.get(slot, ()), rules, now)
        if found is None:
            waiting |= {row.id for row in rows[slot]} & gone
        else:
            quiet |= found
    if quiet:
        conn.execute(SQL.void, {"ids": list(quiet)})
    return waiting


def silenced(rest: Sequence[Row], endings: Sequence[Ending], rules: Rules, now: datetime) -> set[bytes] | None:
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
