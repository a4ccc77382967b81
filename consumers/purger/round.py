"""One round over every store: count what there is, erase it, keys last, ask again.

A store that fails leaves its lines open and stops nothing. For one subject the index and the cache are counted and
emptied while PostgreSQL is: after Block nobody reads or writes there, so only keys have to wait for the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from consumers.purger import book, lines
from consumers.purger.emptying import Work, guarded, looked
from schemas import datamap
from schemas.eraser import Eraser, Line, Plan, Scope
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome
from schemas.words import SelectorKind
from stores.database import Connection, translate
from stores.erasers.tables import Link

_LAST = frozenset({"vault", "records"})
"""What opens the others' content goes once the others are done."""
_OF_HANDLE = frozenset({"postgres", "subjects", "vectors", "redis", "vault"})
"""What a handle has in these cannot grow after it was counted under the lock of the block."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Erasers that have nothing to do with the saga's own connection, and the one by which their counts are kept."""

    names: frozenset[str]
    link: Link


@dataclass(frozen=True, slots=True)
class Running:
    """Erasers at work beside the saga's own: when their stores are empty, and what was then seen of them."""

    emptied: Future[None]
    seen: Future[dict[str, list[Line]]]


@dataclass(frozen=True, slots=True)
class Round:
    """What a round needs; ``pool`` has a thread for each of those that run beside the saga's own."""

    conn: Connection
    pool: Executor
    beside: Sequence[Beside]

    def all(
        self,
        erasers: Sequence[Eraser],
        scope: Scope,
        known: book.Known,
        begin: Callable[[], book.Known],
        renew: Renew,
    ) -> list[Line]:
        """Empty every store, those that can be at the same time.

        Args:
            erasers: in order.
            scope: what is to go.
            known: what was counted so far; what is counted now is kept before anything is taken away.
            begin: what the saga's own connection does first; gives what is known then.
            renew: called now and then, while this may take long.
        """
        beside = self.beside if scope.kind is SelectorKind.SUBJECT else ()
        aside = {name for lane in beside for name in lane.names}
        others = [self._beside(lane, erasers, scope, known) for lane in beside]
        first = [one for one in erasers if one.name not in aside | _LAST]
        last = [one for one in erasers if one.name in _LAST]
        try:
            work = self._counted(lambda: self.conn, [*first, *last], scope, begin())
            made = _emptied(work, first, renew)
            _join([lane.emptied for lane in others], renew)
            made |= _emptied(work, last, renew)
            _join([lane.seen for lane in others], renew)
        finally:
            # Nothing may still be erasing when somebody else takes this up.
            wait([lane.seen for lane in others])
        for lane in others:
            made |= lane.seen.result()
        return [line for one in erasers for line in made[one.name]]

    def _beside(self, lane: Beside, erasers: Sequence[Eraser], scope: Scope, known: book.Known) -> Running:
        """Begin with stores that need nothing of the saga's own; they are looked at as soon as they are empty."""
        some = [one for one in erasers if one.name in lane.names]
        emptied: Future[None] = Future()

        def run() -> dict[str, list[Line]]:
            try:
                work = self._counted(lane.link, some, scope, known)
                for one in some:
                    work.empty(one)
            except BaseException as error:
                emptied.set_exception(error)
                raise
            emptied.set_result(None)
            return {one.name: work.look(one) for one in some}

        return Running(emptied, self.pool.submit(run))

    def _counted(self, link: Link, erasers: Sequence[Eraser], scope: Scope, known: book.Known) -> Work:
        """Count what was not counted under the lock, and keep it."""
        plans = {eraser.name: _known_plan(eraser, scope, known) or self._planned(eraser, scope) for eraser in erasers}
        return Work(plans, {**known.before, **self._kept(link, erasers, scope, plans, known)})

    def one(self, eraser: Eraser, scope: Scope, known: book.Known) -> list[Line]:
        """Empty one store."""
        work = self._counted(lambda: self.conn, [eraser], scope, replace(known, planned={}))
        work.empty(eraser)
        return work.look(eraser)

    def after(self, eraser: Eraser, scope: Scope, made: Sequence[Line], words: Mapping[str, int]) -> list[Line]:
        """Empty one store again, for what the cut of someone's words has found; of several counts the highest stays."""
        places = {entry.name: entry.place for entry in datamap.of(eraser.name)}
        before = {one.entry: max(one.before, words.get(places.get(one.entry, ""), 0)) for one in made}
        anew = {
            one.entry: replace(one, before=max(one.before, before[one.entry]))
            for one in self.one(eraser, scope, book.Known(before, {}))
        }
        return [anew.get(one.entry, one) for one in made]

    def look(self, eraser: Eraser, scope: Scope, known: book.Known) -> list[Line]:
        """Ask one store again and erase nothing."""
        try:
            return looked(eraser, scope, known.before)
        except (TransientError, UnknownOutcome, ConfigurationError):
            return lines.still_open(eraser, known.before, "unavailable")

    def _planned(self, eraser: Eraser, scope: Scope) -> Plan | str:
        """Count; where that fails, the word for why."""
        found: list[Plan] = []
        reason = guarded(eraser, scope, lambda: found.append(eraser.plan(scope)))
        return reason or found[0]

    def _kept(
        self,
        link: Link,
        erasers: Sequence[Eraser],
        scope: Scope,
        plans: Mapping[str, Plan | str],
        known: book.Known,
    ) -> dict[str, int]:
        """Nothing can be added after Block, so the most that was ever counted is what there was."""
        kept: dict[str, int] = {}
        rows = []
        for eraser in erasers:
            plan = plans[eraser.name]
            counts = dict(plan.counts) if isinstance(plan, Plan) else {}
            if eraser.name == "postgres" and counts and lines.is_whole(scope.kind):
                for table, count in known.words.items():
                    if f"postgres.{table}" in counts:
                        counts[f"postgres.{table}"] += count
            if _known_plan(eraser, scope, known):
                kept |= {entry: max(count, known.before.get(entry, 0)) for entry, count in counts.items()}
            else:
                rows += [(entry, count, eraser.name, eraser.version) for entry, count in counts.items() if count]
        if rows:
            with translate():
                kept |= book.count_before(link(), scope.erasure, rows)
        return kept


Renew = Callable[[], None]


def _known_plan(eraser: Eraser, scope: Scope, known: book.Known) -> Plan | None:
    """What was counted under the lock, None where that was not all of it."""
    names = [entry.name for entry in datamap.of(eraser.name)]
    if eraser.name not in _OF_HANDLE or any(name not in known.planned for name in names):
        return None
    return Plan(scope, {name: known.planned[name] for name in names})


def renewing(renew: Callable[[], object], seconds: float) -> Renew:
    """Call something at most once in so many seconds."""
    last = time.monotonic()

    def now_and_then() -> None:
        nonlocal last
        if time.monotonic() - last > seconds:
            renew()
            last = time.monotonic()

    return now_and_then


def _emptied(work: Work, erasers: Sequence[Eraser], renew: Renew) -> dict[str, list[Line]]:
    """Empty stores, then ask each again."""
    for one in erasers:
        work.empty(one)
        renew()
    return {one.name: work.look(one) for one in erasers}


def _join(others: Sequence[Future[Any]], renew: Renew) -> None:
    """Wait for all; what failed is raised."""
    while wait(others, timeout=1.0).not_done:
        renew()
    for other in others:
        other.result()
