"""One round over every store: count what there is, erase it, ask again.

A store that fails leaves its lines open and stops nothing. For one subject the index and the cache are counted and
emptied while PostgreSQL is: after Block nobody reads or writes there, so only keys have to wait for the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from consumers.purger import book, lines
from consumers.purger.faults import passing
from schemas import datamap
from schemas.eraser import Eraser, Line, Plan, Scope
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome
from schemas.words import SelectorKind
from stores.database import Connection, translate
from stores.erasers.tables import Link

logger = logging.getLogger(__name__)

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
        others = [
            self.pool.submit(self._lane, lane.link, [one for one in erasers if one.name in lane.names], scope, known)
            for lane in beside
        ]
        own = [one for one in erasers if one.name not in aside]
        made: dict[str, list[Line]] = {}
        try:
            run = self._counted(lambda: self.conn, own, scope, begin())
            for one in own:
                if one.name not in _LAST:
                    made[one.name] = run(one)
                    renew()
            _join(others, renew)
        finally:
            # Nothing may still be erasing when somebody else takes this up.
            wait(others)
        for other in others:
            made |= other.result()
        made |= {one.name: run(one) for one in own if one.name in _LAST}
        return [line for one in erasers for line in made[one.name]]

    def _lane(self, link: Link, erasers: Sequence[Eraser], scope: Scope, known: book.Known) -> dict[str, list[Line]]:
        run = self._counted(link, erasers, scope, known)
        return {one.name: run(one) for one in erasers}

    def _counted(
        self, link: Link, erasers: Sequence[Eraser], scope: Scope, known: book.Known
    ) -> Callable[[Eraser], list[Line]]:
        """Count what was not counted under the lock, and keep it; what is given empties one store."""
        plans = {eraser.name: _known_plan(eraser, scope, known) or self._planned(eraser, scope) for eraser in erasers}
        before = {**known.before, **self._kept(link, erasers, scope, plans, known)}

        def run(one: Eraser) -> list[Line]:
            plan = plans[one.name]
            return self._erased(one, plan, before) if isinstance(plan, Plan) else lines.still_open(one, before, plan)

        return run

    def one(self, eraser: Eraser, scope: Scope, known: book.Known) -> list[Line]:
        """Empty one store."""
        return self._counted(lambda: self.conn, [eraser], scope, replace(known, planned={}))(eraser)

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
            return _looked(eraser, scope, known.before)
        except (TransientError, UnknownOutcome, ConfigurationError):
            return lines.still_open(eraser, known.before, "unavailable")

    def _planned(self, eraser: Eraser, scope: Scope) -> Plan | str:
        """Count; where that fails, the word for why."""
        found: list[Plan] = []
        reason = _guarded(eraser, scope, lambda: found.append(eraser.plan(scope)))
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

    def _erased(self, eraser: Eraser, plan: Plan, before: Mapping[str, int]) -> list[Line]:
        made: list[Line] = []

        def step() -> None:
            passing(f"counted_{eraser.name}")
            eraser.erase(plan)
            passing(f"observing_{eraser.name}")
            made.extend(_looked(eraser, plan.scope, before))

        reason = _guarded(eraser, plan.scope, step)
        passing(f"erased_{eraser.name}")
        return lines.still_open(eraser, before, reason) if reason else made


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


def _join(others: Sequence[Future[dict[str, list[Line]]]], renew: Renew) -> None:
    while wait(others, timeout=1.0).not_done:
        renew()


def _looked(eraser: Eraser, scope: Scope, before: Mapping[str, int]) -> list[Line]:
    at = datetime.now(UTC)
    return [lines.made(eraser, seen, before.get(seen.entry, 0), at, scope.kind) for seen in eraser.observe(scope)]


def _guarded(eraser: Eraser, scope: Scope, step: Callable[[], None]) -> str:
    """Take a step; give the fixed word for why it failed, or none."""
    try:
        step()
    except (TransientError, UnknownOutcome) as error:
        logger.warning("erasure %s: %s waits: %s", scope.erasure.hex(), eraser.name, error)
        return "unavailable"
    except ConfigurationError as error:
        logger.warning("erasure %s: %s: %s", scope.erasure.hex(), eraser.name, error)
        return "misconfigured"
    except Exception as error:
        # The message may quote a value; the kind says enough to look further.
        logger.warning("erasure %s: %s failed: %s", scope.erasure.hex(), eraser.name, type(error).__name__)
        return "failed"
    return ""
