"""Erases a handle's points from the vector index, and then the ledger that names them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.errors import TransientError
from schemas.words import Property
from stores.database import translate
from stores.erasers.tables import Link
from stores.sql import load
from stores.vectors import VectorIndex

_SQL = load("stores.erasers", "points.sql")
_POINTS, _LEDGER = "qdrant.memories", "postgres.vectors"
# An indexer at work closes its intent within a write and a check; one that was killed leaves a
# lease, and waiting that long here would hold up the other stores: the line stays open instead.
_PATIENCE_SECONDS = 2.0
_PAGE = 1000


class PointsEraser:
    """Intents closed or lapsed first, then points by the ledger's ids, then a sweep by filter."""

    name = "vectors"
    version = "1"

    def __init__(self, index: VectorIndex, erasing: Link, observing: Link) -> None:
        """Take the index, a connection to erase by and another to look by."""
        self._index = index
        self._erasing = erasing
        self._observing = observing

    def properties(self) -> Properties:
        """Points are gone for every reader; what segments still hold has lost its basis."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.SPOILED})
        return Properties(can, can)

    def plan(self, scope: Scope) -> Plan:
        """Count by the ledger, which names every point before it is written."""
        if scope.handle is None:
            return Plan(scope, {_POINTS: 0, _LEDGER: 0})
        with translate():
            row = self._erasing().execute(_SQL.count_ledger, (scope.handle,)).fetchone()
        written, rows = row if row else (0, 0)
        return Plan(scope, {_POINTS: written, _LEDGER: rows})

    def erase(self, plan: Plan) -> None:
        """Delete the points, see that none is left, and only then the ids that lead to them.

        Raises:
            TransientError: an indexer may still write a point: its intent is open.
        """
        scope = plan.scope
        if scope.handle is None:
            return
        self._wait_for_intents(scope.handle)
        last = b""
        while page := self._page(scope.handle, last):
            self._index.delete(page)
            last = page[-1]
        self._index.delete_scope(scope.handle, scope.epoch)
        if self._index.count(scope.handle):
            raise TransientError("the index still counts points of an erased handle")
        with translate():
            while self._erasing().execute(_SQL.delete_ledger, (scope.handle, _PAGE)).rowcount == _PAGE:
                pass

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Page through whatever carries the handle, and count the ledger in another session."""
        points = ledger = 0
        if scope.handle is not None:
            points = sum(len(page) for page in self._index.scroll(scope.handle))
            with translate():
                row = self._observing().execute(_SQL.count_ledger, (scope.handle,)).fetchone()
            ledger = int(row[1]) if row else 0
        return [
            _seen(_POINTS, points, "points deleted by id and by filter; all points of the handle paged through"),
            _seen(_LEDGER, ledger, "ledger deleted after its points; counted in another session"),
        ]

    def _wait_for_intents(self, handle: bytes) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with translate():
                row = self._erasing().execute(_SQL.open_intents, (handle,)).fetchone()
            if row is None or not row[0]:
                return
            if time.monotonic() >= until:
                raise TransientError("an indexer's intent for the handle is still open")
            time.sleep(0.02)

    def _page(self, handle: bytes, last: bytes) -> list[bytes]:
        with translate():
            rows = self._erasing().execute(_SQL.page_of_points, (handle, last, _PAGE)).fetchall()
        return [row[0] for row in rows]


def _seen(entry: str, left: int, method: str) -> Observation:
    proven = frozenset() if left else frozenset({Property.ABSENT})
    return Observation(entry, left, proven, method)
