"""The erasers of a batch, counting on from what the batches of the same day before it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from consumers.purger.expiry.work import work_of
from consumers.purger.owners.eraser import ARTEFACTS
from schemas.eraser import Eraser, Observation, Plan, Properties, Scope
from schemas.words import LineStatus
from stores.database import translate
from stores.erasers.tables import Link

_ROWS = "rows deleted by id, batch by batch; each batch looked for again in another session"
_LOGS = {
    LineStatus.EXPIRES: "a record that is read again is refused by its keyed hash; retention read from the broker",
    LineStatus.ERASED: "retention and roll time of the topic have passed since the newest record of what went",
}
"""Nobody is fenced, which is what the erasers of logs speak of."""


class Added:
    """An eraser that knows one batch; its counts are those of the day."""

    def __init__(self, inner: Eraser, link: Link) -> None:
        """Wrap an eraser; ``link`` reads what was taken before."""
        self.name = inner.name
        self.version = inner.version
        self._inner = inner
        self._link = link

    def properties(self) -> Properties:
        """Those of the eraser itself."""
        return self._inner.properties()

    def plan(self, scope: Scope) -> Plan:
        """Add to the counts what went before; artefacts are counted by their orders, which stay."""
        with translate():
            base = work_of(self._link(), scope.erasure).base
        counts = self._inner.plan(scope).counts
        return Plan(
            scope, {name: count + (base.get(name, 0) if name != ARTEFACTS else 0) for name, count in counts.items()}
        )

    def erase(self, plan: Plan) -> None:
        """Erase the batch."""
        self._inner.erase(plan)

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Observe the batch; of logs that what went came from records no younger than the newest of them."""
        with translate():
            since = work_of(self._link(), scope.erasure).since
        seen = self._inner.observe(replace(scope, blocked_at=since or scope.blocked_at))
        return [replace(one, method=self._method(one)) for one in seen]

    def _method(self, seen: Observation) -> str:
        if self.name == "postgres":
            return _ROWS
        return _LOGS.get(seen.status, seen.method) if self.name == "logs" and seen.status else seen.method
