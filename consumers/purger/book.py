"""The saga's rows: who holds an erasure, how far it is, and what its lines say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson
from psycopg.types.json import Jsonb

from schemas.eraser import Kind, Line, Scope
from schemas.words import ErasureState, OwnKind, SelectorKind
from stores.database import Connection, Cursor, columns, value
from stores.sql import load

SQL = load("consumers.purger", "purger.sql")

CONSUMER = "purger"
"""Under this name its messages wait for the worker."""

LEASE_SECONDS = 60.0
"""Longer than any one step; a holder whose session is gone is replaced at once, not after this."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was counted of an erasure before anything was taken away.

    Attributes:
        before: counts by map entry, as they were right after Block.
        words: rows, by table, that were cut from others' groups for a person who spoke there.
        planned: counts by map entry that Block took under its lock; entries it did not get to are left out.
    """

    before: Mapping[str, int]
    words: Mapping[str, int]
    planned: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, before: Mapping[str, int] | None, words: Mapping[str, int] | None) -> Known:
        """Read what the row says."""
        return cls(before or {}, {table: count for table, count in (words or {}).items() if count})


@dataclass(frozen=True, slots=True)
class Held:
    """An erasure that this session holds; the fields are those of the row when it was taken."""

    owner: str
    id: bytes
    tenant: bytes
    subject: bytes | None
    lock: int | None
    kind: Kind
    tag: bytes | None
    state: ErasureState
    handle: bytes | None
    epoch: int | None
    fence: Mapping[str, int] | None
    plan: Mapping[str, int] | None
    plan_digest: str | None
    requested_at: datetime
    deadline: datetime
    not_before: datetime | None
    blocked_at: datetime | None
    attempts: int
    expected_digest: str | None
    known: Known

    def scope(self) -> Scope:
        """What the erasers are told."""
        return Scope(
            erasure=self.id,
            kind=self.kind,
            tenant=self.tenant,
            subject=self.subject,
            lock=self.lock or 0,
            handle=self.handle,
            epoch=self.epoch or 0,
            blocked=self.blocked_at is not None,
            fence=self.fence or {},
            blocked_at=self.blocked_at,
        )


def named(conn: Connection) -> str:
    """Set a new session up, and give the name under which it holds erasures."""
    return str(value(conn, SQL.session))


def take(conn: Connection, erasure: bytes) -> Held | None:
    """Take the lease, or renew it; None where another session holds it."""
    row = conn.execute(SQL.lease, {"id": erasure, "seconds": LEASE_SECONDS}).fetchone()
    if row is None:
        return None
    values: list[Any] = list(row)
    values[5] = OwnKind.EXPIRY if values[5] == OwnKind.EXPIRY else SelectorKind(values[5])
    values[7] = ErasureState(values[7])
    values[-2:] = [Known.of(*values[-2:])]
    held = Held(*values)
    # A plan that nobody had seen before was counted under the lock of the block.
    exact = held.kind is SelectorKind.SUBJECT and held.expected_digest is None
    return replace(held, known=replace(held.known, planned=held.plan or {})) if exact else held


@contextmanager
def durable(conn: Connection) -> Iterator[None]:
    """A transaction that is on disk when it ends, with all that was committed before it."""
    with conn.transaction():
        conn.execute("SET LOCAL synchronous_commit = on")
        yield


def due(conn: Connection, *, watched: bool, limit: int = 1) -> list[bytes]:
    """Erasures whose time has come and that nobody holds: those still to be erased, or those to be looked at again."""
    return [row[0] for row in conn.execute(SQL.due, (watched, limit)).fetchall()]


def release(conn: Connection, held: Held, seconds: float, attempts: int) -> None:
    """Let go, to be taken up again in ``seconds``."""
    values = {"id": held.id, "owner": held.owner, "seconds": seconds, "attempts": attempts}
    conn.execute(SQL.release, values)


def hand_over(conn: Connection, held: Held, heir: str) -> None:
    """Let another session hold it, from the commit on."""
    conn.execute(SQL.hand_over, {"id": held.id, "owner": held.owner, "heir": heir, "seconds": LEASE_SECONDS})


def set_plan(conn: Connection, held: Held, counts: Mapping[str, int], digest: str) -> None:
    """Keep what was found when the request was accepted."""
    values = {"id": held.id, "owner": held.owner, "plan": Jsonb(dict(counts)), "digest": digest}
    conn.execute(SQL.set_plan, values)


def set_blocked(
    conn: Connection,
    held: Held,
    life: tuple[bytes | None, int],
    fence: Mapping[str, int],
    plan: tuple[Mapping[str, int], str] | None = None,
) -> Cursor:
    """Say that a subject is fenced, in the transaction that does it; gives the time of it, where it is still ours.

    Args:
        conn: the saga's.
        held: whose.
        life: handle and epoch that ended, or that is to be cut.
        fence: what lies before it is erased.
        plan: counts and digest, where they were not kept before.
    """
    counts, digest = plan or (None, None)
    values = {
        "id": held.id,
        "owner": held.owner,
        "handle": life[0],
        "epoch": life[1],
        "fence": Jsonb(dict(fence)),
        "plan": None if counts is None else Jsonb(dict(counts)),
        "digest": digest,
    }
    return conn.execute(SQL.block_erasure, values)


def refuse_plan(conn: Connection, held: Held) -> None:
    """End a request whose plan is not the one that its dry run showed."""
    conn.execute(SQL.refuse_plan, {"id": held.id, "owner": held.owner})


def set_state(conn: Connection, held: Held, state: ErasureState) -> None:
    """Move on."""
    conn.execute(SQL.set_state, {"id": held.id, "owner": held.owner, "state": state.value})


def count_before(conn: Connection, erasure: bytes, rows: Sequence[tuple[str, int, str, str]]) -> dict[str, int]:
    """Keep what was counted before anything was erased; of several counts the highest stays.

    Args:
        conn: the saga's.
        erasure: whose.
        rows: entry, count, name and version of the eraser that counted.

    Returns:
        What is kept now, by entry.
    """
    return dict(conn.execute(SQL.set_before, (erasure, *columns(rows, 4))).fetchall())


def known(conn: Connection, erasure: bytes) -> Known:
    """Read what was counted so far."""
    row = conn.execute(SQL.known_so_far, {"id": erasure}).fetchone()
    return Known.of(*(row or (None, None)))


def save_lines(conn: Connection, erasure: bytes, lines: Iterable[Line]) -> None:
    """Write what is known now of each line."""
    conn.execute(SQL.save_lines, (erasure, Jsonb([_values(line) for line in lines], orjson.dumps)))


def put_off(conn: Connection, held: Held, at: datetime | None) -> None:
    """Let go until a time; None for ever."""
    conn.execute(SQL.put_off, {"id": held.id, "owner": held.owner, "at": at})


def told(conn: Connection, erasure: bytes) -> set[tuple[str, str, tuple[str, ...]]]:
    """What the newest receipt says of each entry: status and properties."""
    row = conn.execute(SQL.newest_receipt, (erasure,)).fetchone()
    rows = orjson.loads(row[1])["lines"] if row else []
    return {(line["entry"], line["status"], tuple(line["proven"])) for line in rows}


def _values(line: Line) -> dict[str, Any]:
    return {
        "entry": line.entry,
        "before": line.before,
        "status": line.status.value,
        "after": line.after,
        "proven": [name.value for name in line.proven],
        "target": [name.value for name in line.target],
        "method": line.method,
        "expires_at": line.expires_at.isoformat() if line.expires_at else None,
        "reason": line.reason,
        "observed_at": line.observed_at.isoformat() if line.observed_at else None,
        "eraser": line.eraser,
        "version": line.version,
    }
