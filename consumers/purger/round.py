"""One round over every store: count what there is, erase it, ask again.

A store that fails leaves its lines open and stops nothing. For one subject the index and the cache are emptied
while PostgreSQL is: after Block nobody reads or writes there, so only keys have to wait for the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime

from consumers.purger import book, lines
from consumers.purger.faults import passing
from schemas.eraser import Eraser, Line, Plan, Scope
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome
from schemas.words import SelectorKind
from stores.database import Connection

logger = logging.getLogger(__name__)

_BESIDE = (frozenset({"vectors"}), frozenset({"logs", "redis"}))
"""Erasers that have nothing to do with the saga's own connection, by the thread that runs them."""
_LAST = frozenset({"vault", "records"})
"""What opens the others' content goes once the others are done."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a round needs; ``pool`` has a thread for each of those that run beside the saga's own."""

    conn: Connection
    pool: Executor

    def all(self, erasers: Sequence[Eraser], scope: Scope, before: dict[str, int], renew: Renew) -> list[Line]:
        """Empty every store, those that can be at the same time.

        Args:
            erasers: in order.
            scope: what is to go.
            before: what was counted so far by entry; what is counted now is added.
            renew: called now and then, while this may take long.
        """
        plans = {eraser.name: self._planned(eraser, scope) for eraser in erasers}
        before |= self._kept(erasers, scope, plans)

        def run(one: Eraser) -> list[Line]:
            plan = plans[one.name]
            return self._erased(one, plan, before) if isinstance(plan, Plan) else lines.still_open(one, before, plan)

        beside = _BESIDE if scope.kind is SelectorKind.SUBJECT else ()
        others = [self.pool.submit(_each, [one for one in erasers if one.name in names], run) for names in beside]
        aside = {name for names in beside for name in names}
        made: dict[str, list[Line]] = {}
        try:
            for one in erasers:
                if one.name not in aside | _LAST:
                    made[one.name] = run(one)
                    renew()
            _join(others, renew)
        finally:
            # Nothing may still be erasing when somebody else takes this up.
            wait(others)
        for other in others:
            made |= other.result()
        made |= _each([one for one in erasers if one.name in _LAST], run)
        return [line for one in erasers for line in made[one.name]]

    def one(self, eraser: Eraser, scope: Scope, before: dict[str, int]) -> list[Line]:
        """Empty one store."""
        plan = self._planned(eraser, scope)
        if not isinstance(plan, Plan):
            return lines.still_open(eraser, before, plan)
        before |= self._kept([eraser], scope, {eraser.name: plan})
        return self._erased(eraser, plan, before)

    def look(self, eraser: Eraser, scope: Scope, before: dict[str, int]) -> list[Line]:
        """Ask one store again and erase nothing."""
        try:
            return _looked(eraser, scope, before)
        except (TransientError, UnknownOutcome, ConfigurationError):
            return lines.still_open(eraser, before, "unavailable")

    def _planned(self, eraser: Eraser, scope: Scope) -> Plan | str:
        """Count; where that fails, the word for why."""
        found: list[Plan] = []
        reason = _guarded(eraser, scope, lambda: found.append(eraser.plan(scope)))
        return reason or found[0]

    def _kept(self, erasers: Sequence[Eraser], scope: Scope, plans: dict[str, Plan | str]) -> dict[str, int]:
        """Nothing can be added after Block, so the most that was ever counted is what there was."""
        rows = []
        for eraser in erasers:
            plan = plans[eraser.name]
            counts = dict(plan.counts) if isinstance(plan, Plan) else {}
            if eraser.name == "postgres" and counts and lines.is_whole(scope.kind):
                for table, count in book.words(self.conn, scope.erasure).items():
                    counts[f"postgres.{table}"] += count
            rows += [(entry, count, eraser.name, eraser.version) for entry, count in counts.items() if count]
        return book.count_before(self.conn, scope.erasure, rows) if rows else {}

    def _erased(self, eraser: Eraser, plan: Plan, before: dict[str, int]) -> list[Line]:
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


def renewing(renew: Callable[[], object], seconds: float) -> Renew:
    """Call something at most once in so many seconds."""
    last = time.monotonic()

    def now_and_then() -> None:
        nonlocal last
        if time.monotonic() - last > seconds:
            renew()
            last = time.monotonic()

    return now_and_then


def _each(erasers: Sequence[Eraser], run: Callable[[Eraser], list[Line]]) -> dict[str, list[Line]]:
    return {eraser.name: run(eraser) for eraser in erasers}


def _join(others: Sequence[Future[dict[str, list[Line]]]], renew: Renew) -> None:
    while wait(others, timeout=1.0).not_done:
        renew()


def _looked(eraser: Eraser, scope: Scope, before: dict[str, int]) -> list[Line]:
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
