"""What every store must offer to be erased, and the records that pass between it and the purger.

An eraser is level-triggered: ``erase`` may run any number of times, in any state that a killed
run left, and ends in the same state. It never infers from an answer that something is gone;
``observe`` asks again, by another path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from schemas.words import LineStatus, OwnKind, Property, SelectorKind

Kind = SelectorKind | OwnKind
"""What an erasure is about: what somebody selected, or what has expired."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one erasure is about.

    Attributes:
        erasure: id of the erasure.
        kind: the selector's kind, or ours.
        tenant: reference of the tenant.
        subject: reference of the subject; None for a whole tenant and for what has expired.
        lock: the subject's advisory key.
        handle: the handle that Block cleared; None where nothing was ever stored.
        epoch: the epoch that Block ended.
        blocked: True once no writer can write under the handle any more.
        fence: ``{"<log>/<partition>": offset}``, set by Block.
        blocked_at: when the fence was set.
    """

    erasure: bytes
    kind: Kind
    tenant: bytes
    subject: bytes | None
    lock: int = 0
    handle: bytes | None = None
    epoch: int = 0
    blocked: bool = False
    fence: Mapping[str, int] = field(default_factory=dict)
    blocked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an eraser found to erase: its scope and a count for each of its map entries."""

    scope: Scope
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Observation:
    """What one store answered when asked whether anything is left.

    Attributes:
        entry: name of the map entry.
        remaining: how many items of the scope are still there.
        proven: what this observation proves, apart from ``fenced`` (proven by Block) and
            ``shredded`` and ``spoiled`` (proven by the vault).
        method: how it was asked, a fixed phrase without content.
        status: set where the answer is not simply erased or nothing found.
        expires_at: for ``expires``: when the last copy is gone.
        reason: a fixed word where the line is open, retained or withheld.
        targets: properties that this deployment can still reach, besides the map's own target.
    """

    entry: str
    remaining: int
    proven: frozenset[Property]
    method: str
    status: LineStatus | None = None
    expires_at: datetime | None = None
    reason: str | None = None
    targets: frozenset[Property] = frozenset()


@dataclass(frozen=True, slots=True)
class Properties:
    """What an eraser can prove of its entries, and which of these it waits for."""

    can: frozenset[Property]
    target: frozenset[Property]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a receipt: what happened to one entry of the map."""

    entry: str
    store: str
    status: LineStatus
    proven: tuple[Property, ...]
    target: tuple[Property, ...]
    method: str
    before: int
    after: int | None
    observed_at: datetime | None
    eraser: str
    version: str
    expires_at: datetime | None = None
    reason: str | None = None


class Eraser(Protocol):
    """Erases one store's entries of the data map.

    Every method may raise ``TransientError`` (the line stays open and is tried again) or
    ``UnknownOutcome`` (the same: nothing is inferred).
    """

    name: str
    version: str

    def plan(self, scope: Scope) -> Plan:
        """Count what there is, changing nothing."""
        ...

    def erase(self, plan: Plan) -> None:
        """Erase all that the scope covers, whatever the plan counted; safe to repeat."""
        ...

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Ask the store again, by another path than ``erase``, exhaustively."""
        ...

    def properties(self) -> Properties:
        """Say what can be proven here."""
        ...
