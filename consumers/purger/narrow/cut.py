"""Takes items out of the tables under the subject's lock, and settles what stays from what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from consumers.purger.narrow.items import SQL, Items
from consumers.purger.narrow.remain import Changed, resettle
from consumers.settling.settle import Rules
from schemas import datamap
from schemas.words import MemoryStatus
from stores.database import Connection
from stores.sealing import SubjectKeys

# A refusal keeps nothing of what was said, and it is what makes the outcome final.
_DELETES = tuple(table for table in datamap.TABLES if table != "refusals")


@dataclass(frozen=True, slots=True)
class Cut:
    """What a cut did: rows deleted by table, and what the log must hear."""

    counts: Counter[str]
    changed: list[Changed]


def cut(conn: Connection, keys: SubjectKeys, items: Items, epoch: int, rules: Rules) -> Cut:
    """Delete the items and all rows about them; the caller holds the subject's lock and the transaction."""
    handle = keys.handle
    slots = {
        row[0]
        for query, given in (
            (SQL.slots, (handle, [*items.memories, *items.touched])),
            (SQL.slots_of_endings, as_values([handle], items) | {"handle": handle}),
        )
        for row in conn.execute(query, given).fetchall()
    }
    done = remove(conn, [handle], items, {handle: epoch})
    changed = done.changed + resettle(conn, keys, sorted(slots), epoch, rules)
    if any(done.counts.values()):
        conn.execute(SQL.raise_generation, ([handle],))
    return Cut(done.counts, changed)


def remove(conn: Connection, handles: Sequence[bytes], items: Items, epochs: Mapping[bytes, int]) -> Cut:
    """Delete the rows of the items, whoever's; what is left of their slots is not looked at."""
    values = as_values(handles, items)
    dead = conn.execute(SQL.deleted_versions, (list(handles), list(items.memories))).fetchall()
    counts: Counter[str] = Counter()
    for table in _DELETES:
        counts[table] = conn.execute(getattr(SQL, f"delete_{table}"), values).rowcount
    conn.execute(SQL.unlink, values)
    gone = MemoryStatus.DELETED
    return Cut(counts, [Changed(memory, version + 1, gone, whose, epochs[whose]) for memory, version, whose in dead])


def left(conn: Connection, handles: Sequence[bytes], items: Items) -> dict[str, int]:
    """Count, by table, what is still there of the items."""
    row = conn.execute(SQL.left, as_values(handles, items)).fetchone()
    names = (
        *("turns", "candidates", "decisions", "memories", "memory_versions", "sources"),
        *("controls", "endings", "traces", "lineage"),
    )
    return dict(zip(names, row or (), strict=True)) | {"security_events": 0, "refusals": 0}


def as_values(handles: Sequence[bytes], items: Items) -> dict[str, object]:
    """The items as the queries take them."""
    # Not the other copies: a window is made anew without the turn, and the same may be asked again.
    every = items.turns | items.candidates | items.memories | items.controls | items.points | items.traces
    return {
        "handles": list(handles),
        "turns": list(items.turns),
        "logged": list(items.turns | items.logged),
        "candidates": list(items.candidates),
        "drafts": list(items.candidates | items.staged),
        "memories": list(items.memories),
        "controls": list(items.controls),
        "traces": list(items.traces),
        "all": list(every - items.touched),
    }
