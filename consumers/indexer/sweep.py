"""Compares index and PostgreSQL, both ways, in pages, and repairs what differs.

Three walks: every point of the index must be of a current version or under a lease; every memory
that is said to be in the index must be there; every row of the ledger must lead somewhere.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from schemas.settings import Settings
from stores.database import Link
from stores.sql import load
from stores.vector_points import Indexed
from stores.vectors import VectorIndex
from streams.metrics import DRIFT

_SQL = load("consumers.indexer", "queries.sql")

Kind = Literal["orphan", "missing", "stale"]
KINDS: tuple[Kind, ...] = ("orphan", "missing", "stale")

_PAGE = 1000
_STEP_SECONDS = 0.1
_SHORTEST_REST = 60.0
# A sweep may take one part in so many of the indexer's time.
_SHARE = 20


class Drift(NamedTuple):
    """One difference.

    Attributes:
        kind: ``orphan``: a point without a right to be in the index. ``missing``: a memory that is said
            to be there and is not. ``stale``: a row of the ledger that leads to no current version.
        point: the point's id, empty where the ledger knows none.
        memory: the memory's id, empty for a point that is none of ours.
    """

    kind: Kind
    point: bytes
    memory: bytes


class Sweeper:
    """Finds and repairs differences, a little at a time or all at once."""

    def __init__(self, index: VectorIndex, link: Link, mend: Callable[[Iterable[bytes]], int]) -> None:
        """Take both sides, and what brings a memory and its points together."""
        self._index = index
        self._link = link
        self._mend = mend
        self._walk: Iterator[list[Drift]] | None = None
        self._found: Counter[Kind] = Counter()
        self._next = time.monotonic() + _SHORTEST_REST
        self._spent = 0.0

    def step(self) -> None:
        """Go on for a tenth of a second, or rest between two sweeps."""
        started = time.monotonic()
        if self._walk is None and started < self._next:
            return
        try:
            while time.monotonic() - started < _STEP_SECONDS:
                if self._page() is None:
                    self._rest()
                    return
        except Exception:
            # Begun anew later: a walk that was interrupted cannot go on.
            self._rest()
            raise
        finally:
            self._spent += time.monotonic() - started

    def run(self) -> dict[Kind, int]:
        """Sweep everything now; return how many differences of each kind were found and repaired."""
        self._walk = None
        self._found.clear()
        while self._page() is not None:
            pass
        found = {kind: self._found[kind] for kind in KINDS}
        self._rest()
        return found

    def _page(self) -> list[Drift] | None:
        if self._walk is None:
            self._walk, self._spent = differences(self._index, self._link), 0.0
            self._found.clear()
        page = next(self._walk, None)
        if page:
            self._found.update(found.kind for found in page)
            self._repair(page)
        return page

    def _repair(self, page: list[Drift]) -> None:
        orphans = [found.point for found in page if found.kind == "orphan"]
        missing = [found.memory for found in page if found.kind == "missing"]
        stale = [found.memory for found in page if found.kind == "stale"]
        # A late write of a point that was in the ledger leaves its row to the third walk or to the purger.
        self._index.delete(orphans)
        if missing:
            with self._link.transaction() as tx:
                tx.execute(_SQL.disclaim, (missing,))
        if missing or stale:
            self._mend([*missing, *stale])

    def _rest(self) -> None:
        for kind in KINDS:
            DRIFT.labels(f"index_{kind}").set(self._found[kind])
        self._walk = None
        self._next = time.monotonic() + max(_SHORTEST_REST, _SHARE * self._spent)


def differences(index: VectorIndex, link: Link) -> Iterator[list[Drift]]:
    """Give every difference, page by page, changing nothing; an empty page means that one was in order."""
    for page in index.scroll():
        yield _orphans(index, link, page)
    yield from _missing(index, link)
    yield from _stale(link)


def drift(settings: Settings) -> list[Drift]:
    """Compare both sides once and return every difference."""
    link, index = Link(settings.database, "obelus drift"), VectorIndex(settings)
    try:
        return [found for page in differences(index, link) for found in page]
    finally:
        link.close()
        index.close()


def _orphans(index: VectorIndex, link: Link, page: list[Indexed]) -> list[Drift]:
    # Asked after the page was read: whoever wrote a point had committed its intent before.
    allowed = _allowed(link, [point.id for point in page])
    suspects = [point for point in page if point not in allowed]
    # A point that was properly removed meanwhile is no difference.
    there = index.existing([point.id for point in suspects])
    return [Drift("orphan", point.id, point.memory) for point in suspects if point.id in there]


def _missing(index: VectorIndex, link: Link) -> Iterator[list[Drift]]:
    for rows in _paged(link, _SQL.claimed):
        there = index.existing([point for _, point in rows if point])
        suspects = [(memory, point) for memory, point in rows if point not in there]
        # The same for a memory that has left the index properly.
        still = {known.id for known in _allowed(link, [point for _, point in suspects if point])}
        yield [Drift("missing", point or b"", memory) for memory, point in suspects if not point or point in still]


def _stale(link: Link) -> Iterator[list[Drift]]:
    for rows in _paged(link, _SQL.stale):
        yield [Drift("stale", point, memory) for point, memory in rows]


def _allowed(link: Link, points: list[bytes]) -> set[Indexed]:
    """Return those of the points, as they ought to be, that have a right to be in the index."""
    if not points:
        return set()
    with link.transaction() as tx:
        rows = tx.execute(_SQL.judge, (points,)).fetchall()
    return {Indexed(*row) for row in rows}


def _paged(link: Link, query: str) -> Iterator[list[tuple[Any, Any]]]:
    """Run a query page by page, by its first column; give its first and third where the second is true."""
    after = b""
    while True:
        with link.transaction() as tx:
            rows = tx.execute(query, {"after": after, "limit": _PAGE}).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield [(first, third) for first, meant, third in rows if meant]
