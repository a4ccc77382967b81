"""Block: from here on no reader sees the subject and no writer can write under its handle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from psycopg.types.json import Jsonb

from consumers import outbox
from consumers.purger import book
from consumers.purger.book import CONSUMER
from consumers.purger.faults import passing
from consumers.purger.planning import Found
from schemas.events import Change
from schemas.topics import CHANGES
from schemas.words import ErasureState, MemoryStatus
from stores.database import Connection
from stores.subjects import lock_refs
from stores.vault import Vault
from stores.vault_ledger import Fence
from streams.codec import Message, message

Version = tuple[bytes, int, MemoryStatus, bytes, int]
"""Memory, version, status, handle, epoch."""

Ends = Callable[[], dict[str, int]]
"""Reads where every inbound partition ends, within the bound of two seconds, or raises."""


Counting = Callable[[bytes | None, int], Callable[[], Found]]
"""Begins to count what lies under a handle and epoch; what it gives waits for the counts."""


def block(
    conn: Connection,
    vault: Vault,
    held: book.Held,
    ends: Ends,
    counting: Counting | None = None,
    heir: str | None = None,
) -> book.Held | None:
    """End the subject's epoch under its exclusive lock, and let go of the saga.

    The ends are read after the lock is held: whatever was written under the old epoch came from a
    record before them. Where reading them fails nothing has happened, and it is done again.

    Args:
        conn: the saga's. Statements whose answer nobody reads travel with the next one, or with the commit.
        vault: where the fence is kept first.
        held: whose.
        ends: reads where the inbound logs end.
        counting: where there is no plan yet; it is counted meanwhile, while nobody can add anything.
        heir: session that goes on with what was counted here.

    Returns:
        What the heir holds from now on; None where nobody does.

    Raises:
        PartUnavailable: the broker did not answer in time.
    """
    subject = held.subject
    if subject is None:
        raise ValueError("only a subject can be blocked")
    with conn.pipeline(), book.durable(conn):
        ours = conn.execute(book.SQL.still_held, {"id": held.id, "owner": held.owner})
        lock_refs(conn, exclusive=[held.lock or 0])
        row = conn.execute(book.SQL.subject_to_block, (subject,)).fetchone()
        if ours.fetchone() is None:
            return None
        handle, epoch, fence = row or (None, 1, {})
        life = _life(conn, held, handle, epoch)
        planned = counting(*life) if counting else None
        reached = later(fence, ends())
        values = {"ref": subject, "fence": Jsonb(reached), "at": held.requested_at}
        conn.execute(book.SQL.block_subject, values)
        if handle is not None:
            outbox.put(conn, CONSUMER, [blocked_handle(handle, epoch)])
        # The vault before the commit: after a restore of PostgreSQL it is what says that this took place.
        vault.record_fences([Fence(subject, epoch, handle, reached)])
        passing("vault_blocked")
        plan = planned() if planned else None
        if plan:
            passing("planned")
        marked = book.set_blocked(conn, held, life, reached, plan)
        if heir and plan:
            book.hand_over(conn, held, heir)
        else:
            book.release(conn, held, 0, 0)
    passing("blocked")
    at = marked.fetchone()
    if not (heir and plan and at):
        return None
    return replace(
        held,
        owner=heir,
        state=ErasureState.BLOCKED,
        handle=life[0],
        epoch=life[1],
        fence=reached,
        plan=plan[0],
        plan_digest=plan[1],
        blocked_at=at[0],
        known=book.Known({}, {}, plan[0]),
    )


def _life(conn: Connection, held: book.Held, handle: bytes | None, epoch: int) -> tuple[bytes | None, int]:
    """Handle and epoch to be erased: where the handle is gone, those of an earlier request not done with its stores."""
    if handle is not None:
        return handle, epoch
    found = conn.execute(book.SQL.unfinished_handle, (held.subject, held.id)).fetchone()
    return found or (None, epoch)


def blocked_handle(handle: bytes, epoch: int) -> Message:
    """Says on ``memory.changes`` that nothing may be read or written under a handle any more."""
    return _changed("blocked", handle, epoch)


def erased_handle(handle: bytes, epoch: int) -> Message:
    """Says on ``memory.changes`` that a handle is empty."""
    return _changed("erased", handle, epoch)


def _changed(status: str, handle: bytes, epoch: int) -> Message:
    change = Change(status=status, handle=handle.hex(), epoch=epoch)
    return message(CHANGES, handle.hex(), change, f"{handle.hex()}-{status}")


def tell_changes(conn: Connection, changed: Iterable[Version]) -> None:
    """Announce new versions of memories, a deletion among them, as the resolver would."""
    outbox.put(conn, CONSUMER, [_version(*one) for one in changed])


def _version(memory: bytes, version: int, status: MemoryStatus, handle: bytes, epoch: int) -> Message:
    change = Change(id=memory.hex(), version=version, status=status, handle=handle.hex(), epoch=epoch)
    return message(CHANGES, handle.hex(), change, f"{memory.hex()}.{version}")


def later(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    """The later of two fences in each partition: a fence never moves back."""
    return {place: max(old.get(place, 0), new.get(place, 0)) for place in {*old, *new}}
