"""Entries of the map with nothing to erase here: content-free, kept on purpose, or not there."""

from __future__ import annotations

from collections.abc import Sequence

from schemas import datamap
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.words import LineStatus


class Standing:
    """An eraser whose answer does not depend on the scope."""

    version = "1"

    def __init__(self, name: str, status: LineStatus, method: str, reason: str | None = None) -> None:
        """Answer ``status`` for every entry of the eraser called ``name``."""
        self.name = name
        self._status = status
        self._method = method
        self._reason = reason

    def properties(self) -> Properties:
        """Nothing is claimed."""
        return Properties(frozenset(), frozenset())

    def plan(self, scope: Scope) -> Plan:
        """Nothing to erase."""
        return Plan(scope, {entry.name: 0 for entry in datamap.of(self.name)})

    def erase(self, plan: Plan) -> None:
        """Nothing to do."""

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Say why the line is what it is."""
        return [
            Observation(entry.name, 0, frozenset(), self._method, self._status, reason=self._reason)
            for entry in datamap.of(self.name)
        ]


def topics() -> Standing:
    """Our own topics carry ids, versions and codes; their retention ends the ids."""
    return Standing("topics", LineStatus.NOTHING_FOUND, "carries no content by schema; ids end by retention")


def files() -> Standing:
    """Process logs carry no content and no natural id."""
    return Standing("files", LineStatus.NOTHING_FOUND, "carries no content and no natural id")


def backups() -> Standing:
    """No backup is known to this deployment."""
    return Standing("backups", LineStatus.NOT_CONFIGURED, "no backup is registered")


def records() -> Standing:
    """What stays so that the erasure holds and can be shown."""
    return Standing(
        "records",
        LineStatus.RETAINED,
        "keyed references, codes and positions; no content",
        "proof_fence_and_consent",
    )
