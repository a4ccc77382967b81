"""Erases a handle's points from the vector index, and then the ledger that names them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

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
_REBUILT = frozenset({Property.COMPACTED})
_UNSEEN = "unseen"
"""Noted where segments lie on other servers, or the log is too large to be turned over."""
_BY_PAGES = "points deleted by id and by filter; all points of the handle paged through"


class Noted(NamedTuple):
    """Segments that held deleted points when the last of an erasure's had gone, and how many seconds ago that was."""

    segments: Sequence[str]
    age: float


class PointsEraser:
    """Intents closed or lapsed first, then points by the ledger's ids, then a sweep by filter.

    The server keeps deleted points in their segments until it rebuilds these, which it does by itself. Once all
    points are gone, the segments that hold deleted ones are noted; when none of those is left, so are the bytes.
    """

    name = "vectors"
    version = "2"

    def __init__(self, index: VectorIndex, erasing: Link, observing: Link) -> None:
        """Take the index, a connection to erase by and another to look by."""
        self._index = index
        self._erasing = erasing
        self._observing = observing

    def properties(self) -> Properties:
        """Points are gone for every reader, and what segments still hold has lost its basis; then a rebuild is seen."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.SPOILED, Property.COMPACTED})
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
        """Delete the points, and only once the index says that it has, the ids that lead to them.

        Raises:
            TransientError: an indexer may still write a point: its intent is open.
        """
        scope = plan.scope
        if scope.handle is None:
            return
        removed = self._deleted(scope, scope.handle)
        if self._forgotten(scope, removed=removed):
            self._note(scope)

    def _deleted(self, scope: Scope, handle: bytes) -> bool:
        """Delete by the ledger's ids and by filter; False where neither knows of anything."""
        last = b""
        while len(page := self._page(handle, last)) == _PAGE:
            self._index.delete(page)
            last = page[-1]
        if page or last:
            self._index.delete_scope(handle, scope.epoch, page)
            return True
        if not self._index.count(handle):
            return False
        self._index.delete_scope(handle, scope.epoch)
        if self._index.count(handle):
            raise TransientError("the index still counts points of an erased handle")
        return True

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Page through whatever carries the handle, and count the ledger in another session."""
        points = ledger = 0
        noted = None
        if scope.handle is not None:
            points = sum(len(page) for page in self._index.scroll(scope.handle))
            with translate():
                row = self._observing().execute(_SQL.ledger_and_note, (scope.handle, scope.erasure)).fetchone()
            ledger, segments, age = row if row else (0, None, None)
            # Nobody has looked yet where there is no note.
            noted = None if segments is None else Noted(segments, float(age or 0))
        return [
            self._compacted(_seen(_POINTS, points, _BY_PAGES), noted),
            _seen(_LEDGER, ledger, "ledger deleted after its points; counted in another session"),
        ]

    def _forgotten(self, scope: Scope, *, removed: bool) -> bool:
        """Delete the ledger of points that are gone; tell whether segments are to be noted, which a new removal undoes.

        Only after the first receipt: of a whole tenant every life's points are gone by then.
        """
        values = {"erasure": scope.erasure, "removed": removed}
        with translate():
            conn = self._erasing()
            with conn.pipeline():
                gone = conn.execute(_SQL.delete_ledger, (scope.handle, _PAGE)) if removed else None
                wanted = conn.execute(_SQL.wants_note, values)
            while gone is not None and gone.rowcount == _PAGE:
                gone = conn.execute(_SQL.delete_ledger, (scope.handle, _PAGE))
        return wanted.fetchone() is not None

    def _note(self, scope: Scope) -> None:
        """Note which segments a rebuild must replace; what was removed only now lies in others too."""
        look = self._index.look()
        if look.busy:
            return
        seen = not look.hidden and (look.embedded or self._index.turn_log())
        with translate():
            self._erasing().execute(_SQL.note, (sorted(look.dirty) if seen else [_UNSEEN], scope.erasure))

    def _compacted(self, seen: Observation, noted: Noted | None) -> Observation:
        if noted is None or seen.remaining:
            return replace(seen, targets=_REBUILT)
        if _UNSEEN in noted.segments:
            return seen
        look = self._index.look()
        left = look.names & set(noted.segments)
        if not left and not look.busy and (look.embedded or noted.age > look.log_seconds):
            method = f"{seen.method}; no segment is left that held deleted ones"
            return replace(seen, method=method, proven=seen.proven | _REBUILT, targets=_REBUILT)
        # A segment too small to be rebuilt keeps them until more points come: nothing to wait for.
        return replace(seen, targets=frozenset() if left and left <= look.stuck else _REBUILT)

    def _page(self, handle: bytes, last: bytes) -> list[bytes]:
        """The next points after ``last``, once no indexer is writing one of them."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with translate():
                rows = self._erasing().execute(_SQL.page_of_points, (handle, last, _PAGE)).fetchall()
            if not any(busy for _, busy in rows):
                return [point for point, _ in rows]
            if time.monotonic() >= until:
                raise TransientError("an indexer's intent for the handle is still open")
            time.sleep(0.02)


def _seen(entry: str, left: int, method: str) -> Observation:
    proven = frozenset() if left else frozenset({Property.ABSENT})
    return Observation(entry, left, proven, method)
