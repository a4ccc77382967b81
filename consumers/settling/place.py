"""Puts a memory where the settling of its slot says it stands. Pure: only the memory given is changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from consumers.settling.memory import Memory
from consumers.settling.settle import Rules, Standing
from schemas.words import SourceType


def place(memory: Memory, standing: Standing, slot: Sequence[Memory], rules: Rules) -> bool:
    """Write a standing into a memory of a slot; True where that changes anything of it."""
    told = _summary(memory, rules)
    held = standing.intervals[-1] if standing.intervals else (told.since, None)
    over = _taken_over(memory, standing, slot)
    found = (standing.status, over, standing.expires_at, told.source, told.confidence, told.row, *held)
    if found == _placed(memory):
        return False
    if memory.status is not standing.status and len(standing.intervals) > 1:
        memory.intervals = standing.intervals
    memory.status, memory.supersedes, memory.expires_at = found[:3]
    memory.source_type, memory.confidence, memory.row = told[:3]
    memory.valid_from, memory.valid_to = held
    return True


def _taken_over(memory: Memory, standing: Standing, slot: Sequence[Memory]) -> bytes | None:
    """A narrowed memory supersedes one of another slot, of which settling this one knows nothing."""
    if standing.supersedes is not None:
        return slot[standing.supersedes].id
    return memory.supersedes if memory.supersedes not in {other.id for other in slot} else None


def _placed(memory: Memory) -> tuple[object, ...]:
    return (
        memory.status,
        memory.supersedes,
        memory.expires_at,
        memory.source_type,
        memory.confidence,
        memory.row,
        memory.valid_from,
        memory.valid_to,
    )


class _Summary(NamedTuple):
    """What the evidence of a memory comes to: strongest source, highest confidence, newest row, first time."""

    source: SourceType
    confidence: float
    row: int
    since: datetime


def _summary(memory: Memory, rules: Rules) -> _Summary:
    said = [item for item in memory.evidence if item.kind.asserts]
    if not said:
        return _Summary(memory.source_type, memory.confidence, memory.row, memory.valid_from)
    first, last = min(said), max(said)
    strongest = max((item.source_type for item in said), key=rules.authority.__getitem__)
    surest = max(item.confidence for item in said)
    return _Summary(strongest, surest, last.order[0], first.holds_from)
