"""The steps of a day's erasure of one tenant: batch after batch, each seen to be gone, then one receipt.

    open        the row of tenant and day, named by a keyed hash     ── there already: nothing
    batch       people locked, rows cut, items kept: one commit      ── killed: all of it or nothing
    prove       every eraser over the batch, each store asked again  ── killed: done again
    fold        what the batch was is added to the day's counts      ── killed: proven again, folded then
    …           until nothing is due
    receipt     as that of any other erasure

A batch a turn, so that what people ask for never waits for what only time asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from consumers.purger import book, lines
from consumers.purger.expiry.batch import Batch
from consumers.purger.expiry.due import SQL, What, due, open_days
from consumers.purger.expiry.work import Work, work_of
from consumers.purger.faults import passing
from schemas.eraser import Eraser, Line
from schemas.words import ErasureState
from stores.database import Connection

Prove = Callable[[book.Held], list[Line]]
"""Runs every eraser over what an erasure has taken, and gives their lines."""
Conclude = Callable[[book.Held, Sequence[Line]], None]
"""Ends an erasure by a receipt, or lets it go to be taken up again."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """What the steps need besides the saga's own; ``erasers`` are those of a selector that leaves people alive."""

    conn: Connection
    batch: Batch
    erasers: Sequence[Eraser]

    def open_days(self) -> list[bytes]:
        """Write down today's erasure of every tenant that has something due; give those with work to do."""
        return open_days(self.conn, self.batch.vault, self.batch.retention)

    def advance(self, held: book.Held, prove: Prove, conclude: Conclude) -> None:
        """Take one batch, or, where nothing is due any more, end the day."""
        if held.state is ErasureState.PLANNED:
            # Nobody is blocked: nothing that is past its time is read, and each batch locks whom it is about.
            book.set_blocked(self.conn, held, (None, 0), {})
            passing("blocked")
        if held.state not in (ErasureState.ERASING, ErasureState.NEEDS_HUMAN):
            book.set_state(self.conn, held, ErasureState.ERASING)
        work = work_of(self.conn, held.id)
        if not work.under_way and not self._take(held, work):
            self._end(held, work, prove, conclude)
            return
        made = prove(held)
        if lines.state_of(made) is ErasureState.PARTIAL:
            conclude(held, made)
            return
        passing("batch_proven")
        work.fold(book.known(self.conn, held.id).before)
        with book.durable(self.conn):
            work.keep(self.conn, held)
            passing("batch_folding")
        passing("batch_folded")
        book.release(self.conn, held, 0, 0)

    def _take(self, held: book.Held, work: Work) -> bool:
        """Take the next batch; False where nothing is left that could go."""
        midnight: datetime = held.requested_at
        for what in What:
            while found := due(self.conn, what, held.tenant, midnight, self.batch.retention):
                if self.batch.take(held, what, found, work):
                    return True
        return False

    def _end(self, held: book.Held, work: Work, prove: Prove, conclude: Conclude) -> None:
        if not work.any:
            # What was due when the day was opened is not any more: no receipt says nothing.
            self.conn.execute(SQL.cancel, {"id": held.id, "owner": held.owner})
            return
        conclude(held, prove(held))
