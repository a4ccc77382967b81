"""What the indexer knows: hints, the rows they lead to, the ledger, and what is to be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from consumers.deadletters import DeadLetter
from schemas.words import MemoryType, Sensitivity, Visibility
from stores.subjects import SubjectRow
from stores.vector_points import Point

INTENT, WRITTEN, REMOVING = "intent", "written", "removing"
"""States of a row of the ledger ``vectors``."""

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hint:
    """A memory that may have changed; None stands for a whole handle, of which the purger takes care."""

    memory: bytes | None
    handle: bytes | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory's row without its body, in the order of the query."""

    id: bytes
    handle: bytes
    epoch: int
    version: int
    active: bool
    tenant: bytes
    namespaces: Sequence[bytes]
    type: MemoryType
    sensitivity: Sensitivity
    visibility: Visibility
    expires_at: datetime | None
    indexed_version: int | None
    updated_at: datetime

    def point(self, point_id: bytes) -> Point:
        """Give the row as a point of the index."""
        return Point(
            point_id,
            self.id,
            self.version,
            self.tenant,
            self.handle,
            self.epoch,
            self.namespaces,
            self.type,
            self.sensitivity,
            self.visibility,
            self.expires_at,
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger, in the order of the query."""

    point: bytes
    memory: bytes
    version: int
    handle: bytes
    epoch: int
    state: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """One version of a memory, embedded and turned; its words are forgotten again."""

    version: int
    point: bytes
    vector: Vector


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch before the lock. ``embedded`` is by memory, of those that were not in the index."""

    hints: Sequence[Hint]
    embedded: Mapping[bytes, Embedded]
    dead_letters: Sequence[DeadLetter] = ()


@dataclass(frozen=True, slots=True)
class State:
    """What the stores say under the lock: subjects by handle, memories by id, the ledger by memory."""

    subjects: Mapping[bytes, SubjectRow]
    memories: Mapping[bytes, Memory]
    ledger: Mapping[bytes, Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class Write:
    """A point to be written, and when the row that it was made from was last changed."""

    point: Point
    vector: Vector
    made_from: datetime


@dataclass(slots=True)
class Result:
    """What is to be done, first as intents in the ledger and then in the index."""

    writes: list[Write] = field(default_factory=list)
    removals: list[Entry] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    dead_letters: Sequence[DeadLetter] = ()
    leased_at: float = 0.0
    """Monotonic clock when the intents were stored."""

    def count(self, outcome: str) -> None:
        """Count an outcome."""
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
