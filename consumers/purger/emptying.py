"""What a round does to each store: empty it, then ask it again; what fails is told by one fixed word."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from consumers.purger import lines
from consumers.purger.faults import passing
from schemas.eraser import Eraser, Line, Plan, Scope
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """Stores that are counted and to be emptied.

    Attributes:
        plans: what there was by name of its eraser, or the word for why nobody knows.
        before: counts by map entry.
        failed: the word for why a store could not be emptied, by name of its eraser.
    """

    plans: Mapping[str, Plan | str]
    before: Mapping[str, int]
    failed: dict[str, str] = field(default_factory=dict)

    def empty(self, eraser: Eraser) -> None:
        """Take away what there is; a failure is noted."""
        plan = self.plans[eraser.name]
        if isinstance(plan, str):
            self.failed[eraser.name] = plan
            return
        passing(f"counted_{eraser.name}")
        self.failed[eraser.name] = guarded(eraser, plan.scope, lambda: eraser.erase(plan))

    def look(self, eraser: Eraser) -> list[Line]:
        """Ask a store that was emptied again."""
        made: list[Line] = []
        plan, reason = self.plans[eraser.name], self.failed[eraser.name]
        if isinstance(plan, Plan) and not reason:
            passing(f"observing_{eraser.name}")
            scope = plan.scope
            reason = guarded(eraser, scope, lambda: made.extend(looked(eraser, scope, self.before)))
        passing(f"erased_{eraser.name}")
        return lines.still_open(eraser, self.before, reason) if reason else made


def looked(eraser: Eraser, scope: Scope, before: Mapping[str, int]) -> list[Line]:
    """Make the lines of a store from what it answers now."""
    at = datetime.now(UTC)
    return [lines.made(eraser, seen, before.get(seen.entry, 0), at, scope.kind) for seen in eraser.observe(scope)]


def guarded(eraser: Eraser, scope: Scope, step: Callable[[], None]) -> str:
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
