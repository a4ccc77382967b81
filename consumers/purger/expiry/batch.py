"""One batch of what is due: looked at again under its people's locks, and cut in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from consumers.extractor.ids import refusal_id
from consumers.purger import book
from consumers.purger.block import tell_changes
from consumers.purger.expiry.due import SQL, Due, What, cutoffs
from consumers.purger.expiry.slots import keep_quiet
from consumers.purger.expiry.work import Work
from consumers.purger.faults import passing
from consumers.purger.narrow.cut import remove
from consumers.purger.narrow.items import SQL as NARROW
from consumers.purger.narrow.items import Items, follow
from consumers.purger.narrow.remain import Changed, resettle
from consumers.settling.memory import Slot
from consumers.settling.settle import Rules
from policy.document import Retention
from stores.database import Connection, columns
from stores.subjects import SubjectRow, load_by_handle, lock_refs
from stores.vault import Vault


@dataclass(frozen=True, slots=True)
class Batch:
    """What takes batches."""

    conn: Connection
    vault: Vault
    rules: Rules
    retention: Retention

    def take(self, held: book.Held, what: What, found: Sequence[Due], work: Work) -> bool:
        """Cut what is still due of what was found; False where that is nothing.

        What was taken stands in ``work`` and, committed with the cut, in the erasure's row.
        """
        conn = self.conn
        with book.durable(conn):
            lock_refs(conn, exclusive=sorted({one.lock for one in found}))
            alive = load_by_handle(conn, {one.handle for one in found})
            rows = self._still(held, what, found, alive)
            if not rows:
                return False
            items = Items(handles={row[1] for row in rows})
            _FILL[what](self, items, {row[0] for row in rows})
            moved = keep_quiet(conn, items.memories, self.rules)
            conn.execute(NARROW.departing, (held.id.hex(),))
            done = remove(conn, sorted(items.handles), items, {one: alive[one].epoch for one in items.handles})
            if items.memories:
                conn.execute(NARROW.raise_generation, (sorted(items.handles),))
            tell_changes(conn, [*done.changed, *self._settled(moved, alive)])
            work.begin(items, done.counts, max(row[2] for row in rows))
            work.keep(conn, held)
            passing("batch_cut")
        passing("batch_taken")
        return True

    def _still(
        self, held: book.Held, what: What, found: Sequence[Due], alive: Mapping[bytes, SubjectRow]
    ) -> list[tuple[bytes, bytes, datetime]]:
        """Id, handle, and when the newest record lay in the log that it came from."""
        # The erasure was asked for at the day's beginning.
        values = cutoffs(held.requested_at, self.retention) | {"ids": [one.id for one in found]}
        rows = self.conn.execute(getattr(SQL, f"still_{what}"), values | {"handles": list(alive)}).fetchall()
        return [(row[0], row[1], row[2]) for row in rows]

    def _settled(self, moved: Sequence[Slot], alive: Mapping[bytes, SubjectRow]) -> list[Changed]:
        keys = self.vault.data_keys({handle for handle, _ in moved}) if moved else {}
        return [
            change
            for handle, slot in moved
            for change in resettle(self.conn, keys[handle], [slot], alive[handle].epoch, self.rules)
        ]

    def candidates(self, items: Items, gone: set[bytes]) -> None:
        """The rows alone: what was decided of them, and what came of that, stays."""
        items.staged = gone

    def memories(self, items: Items, gone: set[bytes]) -> None:
        """All about them, and what they alone came from but the message itself."""
        handles = sorted(items.handles)
        values = {"ids": list(gone), "handles": handles}
        found = self.conn.execute(SQL.candidates_of_memories, values).fetchall()
        items.memories = gone
        items.candidates = {row[0] for row in found}
        items.controls = {row[2] for row in found if row[2] is not None}
        items.points = {row[0] for row in self.conn.execute(NARROW.points, (handles, list(gone))).fetchall()}
        follow(self.conn, handles, items)
        self._entomb({row[1] for row in found if row[1] is not None}, items.controls, items.candidates)

    def turns(self, items: Items, gone: set[bytes]) -> None:
        """Their rows, and what was made of them in vain; of a memory the way to its message stays."""
        values = {"ids": list(gone), "handles": sorted(items.handles)}
        items.logged = gone
        items.candidates = {row[0] for row in self.conn.execute(SQL.candidates_of_turns, values).fetchall()}
        self._entomb(gone)
        self._entomb_edits(gone)
        self.conn.execute(SQL.note_rows, (list(gone),))

    def _entomb(self, turns: Iterable[bytes], controls: Iterable[bytes] = (), candidates: Iterable[bytes] = ()) -> None:
        values = {"turns": list(turns), "controls": list(controls), "candidates": list(candidates)}
        self.conn.execute(SQL.entomb, values)

    def _entomb_edits(self, turns: set[bytes]) -> None:
        """Each revision of an edited message is known by an id of its own."""
        rows = self.conn.execute(SQL.edited, (list(turns),)).fetchall()
        keys = self.vault.data_keys({row[1] for row in rows}) if rows else {}
        tombs = []
        for turn, handle, revision, body, *place in rows:
            own = keys[handle]
            message = orjson.loads(own.open(turn, body))["message_id"]
            tombs += [(refusal_id(own, message, number), handle, *place) for number in range(1, revision + 1)]
        if tombs:
            self.conn.execute(SQL.entomb_edits, columns(tombs, 5))


_FILL = {What.CANDIDATES: Batch.candidates, What.MEMORIES: Batch.memories, What.TURNS: Batch.turns}
