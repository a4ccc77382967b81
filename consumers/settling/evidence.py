"""Evidence: everything that was ever said or ordered about one memory, in the event log's order.

A slot's state is a function of the set of evidence in it (`settle`), so it does not matter in which order, or in
which batches, the decisions arrive.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from schemas.words import Outcome, SourceType

Order = tuple[int, int, bool, bytes]
"""Place in the event log: row of the turn, step of a control after it (0: the turn itself), then a stated
correction after what it corrects in the same turn, then the candidate's id, so that no two are equal."""


class Kind(StrEnum):
    """What a piece of evidence does to its memory."""

    ACCEPT = Outcome.ACCEPT
    PEND = Outcome.PEND
    CONFIRM = Outcome.CONFIRM
    QUARANTINE = Outcome.QUARANTINE
    AFFIRM = "affirm"
    DECLINE = "decline"
    DISABLE = "disable"
    MOVE = "move"

    @property
    def asserts(self) -> bool:
        """True where it says that the memory holds, however weakly."""
        return self not in (Kind.DECLINE, Kind.DISABLE, Kind.MOVE)


class Evidence(NamedTuple):
    """One source of a memory, or one order of the person about it.

    Attributes:
        order: place in the event log.
        kind: what policy or the person made of it.
        source_type: who vouches.
        confidence: of the claim, 0 to 1.
        conversation: keyed hash of where it was said; None for an order.
        at: when it was said.
        holds_from: from when it holds.
        decided_at: when policy decided, by the database's clock.
        expires_at: a stated end, or that of its type.
    """

    order: Order
    kind: Kind
    source_type: SourceType
    confidence: float
    conversation: bytes | None
    at: datetime
    holds_from: datetime
    decided_at: datetime
    expires_at: datetime | None = None

    @property
    def candidate(self) -> bytes:
        """The candidate that it came as."""
        return self.order[3]

    @property
    def own(self) -> bool:
        """True where it is the person's own word."""
        return self.source_type in OWN

    @property
    def decisive(self) -> bool:
        """True where the person settles the matter: an order, or a stated change of mind (C4)."""
        return self.kind is Kind.AFFIRM or (self.order[2] and self.own)


OWN = frozenset({SourceType.USER_CONFIRMED, SourceType.USER_STATED})


class Ending(NamedTuple):
    """A person's "no longer" for a slot.

    Attributes:
        order: place in the event log.
        digests: keyed hashes of the values that it ends; None for whatever the slot holds.
        at: when it was said.
        conversation: keyed hash of where.
    """

    order: Order
    digests: frozenset[bytes] | None
    at: datetime
    conversation: bytes | None = None


def graded(share: float) -> float:
    """Return a share in steps that the database's shorter floats keep, so that equal ones stay equal."""
    return round(share, 4)


def essential(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Leave out repeats that cannot change a slot's state, in log order.

    Of each kind of evidence the first and the last count; of what pends, the first of each conversation too. So the
    work for a statement that is repeated for years stays constant, and still depends on the set alone.
    """
    ordered = sorted(evidence)
    if len(ordered) <= 2:
        return ordered
    last = {_sort(item): item for item in ordered}
    first: dict[object, Evidence] = {}
    for item in ordered:
        first.setdefault(_sort(item), item)
        if item.kind is Kind.PEND:
            first.setdefault(item.conversation or item.candidate, item)
    return sorted({item.candidate: item for item in (*first.values(), *last.values())}.values())


def _sort(item: Evidence) -> tuple[object, ...]:
    return item.kind, item.source_type, item.order[2]
