"""Edges of copies in Redis. Whoever writes one shows that its parents are recorded: a child without them is refused.

An edge is committed before its copy is written and may outlive it, never the other way round: what a lineage does not
name does not lie there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

from schemas.errors import Refused
from stores.database import Connection, columns, translate
from stores.sql import load

_SQL = load("stores", "copies.sql")

_WHOLE_SECONDS: Final = 12 * 3600
"""How often all edges of a window are looked at; in between only what is new in it."""
_MOST_WINDOWS: Final = 100_000
_LAPSE_SECONDS: Final = 60.0

Place = tuple[bytes, int, bytes]
"""Handle, epoch and keyed hash of a conversation: what names a window."""
Edge = tuple[bytes, bytes]
"""Child and parent."""


class Spoken(NamedTuple):
    """Copies with a person's words that belong to others, groups mostly.

    Attributes:
        windows: in which they spoke.
        handles: of those whose copies were noted when their memories were cut.
        answers: ids of kept answers that showed a memory which came from this person; known since then.
    """

    windows: list[Place]
    handles: list[bytes]
    answers: frozenset[bytes]


class Parent(NamedTuple):
    """Where a window comes from: a turn, or whoever spoke in it of others than themselves (W11)."""

    kind: str
    id: bytes


@dataclass(frozen=True, slots=True)
class Recorded:
    """Children whose edges are committed, by id."""

    children: frozenset[bytes] = frozenset()

    def require(self, child: bytes) -> None:
        """See that a copy may be written.

        Raises:
            Refused: nobody has recorded where it comes from.
        """
        if child not in self.children:
            raise Refused("no_parent")


class WindowEdges:
    """Records which turns, and whose, lie in which windows, in commits of its own.

    Not in the transaction that holds the subjects' locks: it ends after the windows are written, and a process that is
    killed in between would leave windows that nothing leads to.
    """

    def __init__(self, connect: Callable[[], Connection], seconds: int) -> None:
        """Take what opens a connection in autocommit mode, and how long a window lives that nobody writes to."""
        self._connect = connect
        self._seconds = seconds
        self._whole: dict[Place, float] = {}
        self._conn: Connection | None = None
        self._old: set[Edge] = set()
        self._next_lapse = 0.0

    def close(self) -> None:
        """Close the connection, where there is one."""
        if self._conn is not None:
            self._conn.close()

    def record(self, windows: Mapping[Place, Set[Parent]], known: Mapping[Place, Set[Parent]]) -> Recorded:
        """Commit the edges of windows that are about to be written, one statement for all.

        Args:
            windows: what will lie in each.
            known: what lies there now.

        Raises:
            TransientError: PostgreSQL did not take them; nothing may be written.
        """
        now = time.monotonic()
        whole = {place for place in windows if self._whole.get(place, -_WHOLE_SECONDS) <= now - _WHOLE_SECONDS}
        rows = [
            (place[2], *parent, place[0])
            for place, parents in windows.items()
            for parent in (parents if place in whole else parents - known[place])
        ]
        old = sorted(self._old - {(window, parent) for window, _, parent, _ in rows})
        names = ("windows", "kinds", "parents", "handles", "old_windows", "old_parents")
        values = dict(zip(names, (*columns(rows, 4), *columns(old, 2)), strict=True))
        with translate():
            times = {"seconds": self._seconds + 2 * _WHOLE_SECONDS, "enough": self._seconds + _WHOLE_SECONDS}
            self._opened().execute(_SQL.record_windows, values | times)
            self._lapse()
        self._old.clear()
        if len(self._whole) > _MOST_WINDOWS:
            self._whole.clear()
        self._whole.update(dict.fromkeys(whole, now))
        return Recorded(frozenset(place[2] for place in windows))

    def scrolled(self, edges: Iterable[Edge]) -> None:
        """What lies in these windows no more; such edges go with the next that are recorded."""
        self._old.update(edges)

    def drop(self, windows: Collection[Place]) -> None:
        """Forget every edge of windows that were taken away.

        Raises:
            TransientError: PostgreSQL did not take it; they end by themselves.
        """
        with translate():
            values = {"windows": [place[2] for place in windows], "handles": [place[0] for place in windows]}
            self._opened().execute(_SQL.drop_windows, values)
        for place in windows:
            self._whole.pop(place, None)

    def _lapse(self) -> None:
        if time.monotonic() >= self._next_lapse:
            self._next_lapse = time.monotonic() + _LAPSE_SECONDS
            lapse(self._opened(), "window")

    def _opened(self) -> Connection:
        if self._conn is None or self._conn.closed:
            self._conn = self._connect()
        return self._conn


def copies_of_author(conn: Connection, author: bytes, erasure: bytes) -> Spoken:
    """Give what others have of someone's words, as far as lineage knows or their erasure has noted it."""
    rows = conn.execute(_SQL.of_author, {"author": author, "erasure": erasure}).fetchall()
    noted: dict[str, list[str]] = next((row[3] for row in rows if row[3] is not None), {})
    handles, answers = ([bytes.fromhex(one) for one in noted.get(kind, ())] for kind in ("handles", "cached"))
    return Spoken([row[:3] for row in rows if row[3] is None], handles, frozenset(answers))


def forget_author(conn: Connection, author: bytes, windows: Iterable[Place]) -> None:
    """Forget that someone spoke in windows that were taken away."""
    conn.execute(_SQL.forget_author, (author, [place[2] for place in windows]))


def lapse(conn: Connection, kind: str) -> int:
    """Forget edges of copies of a kind that have ended by themselves; return how many, 2,000 at most."""
    return conn.execute(_SQL.lapse, (kind,)).rowcount
