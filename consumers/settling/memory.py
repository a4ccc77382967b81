"""A memory with its evidence, as it is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from consumers.settling.evidence import Evidence
from consumers.settling.settle import Interval
from schemas.records import Content
from schemas.words import MemoryStatus, MemoryType, Polarity, Sensitivity, SourceType, Visibility
from stores.subjects import SubjectRow

Slot = tuple[bytes, bytes]
"""Handle and identity."""


@dataclass(slots=True)
class Memory:
    """A memory as one pass has it; ``stored`` is the version and count it was read with, None where it is new.

    ``content`` is set where the sealed body must be written: for a new memory, or one that is spelt anew.
    """

    id: bytes
    subject: SubjectRow
    identity: bytes
    digest: bytes
    type: MemoryType
    polarity: Polarity
    source_type: SourceType
    sensitivity: Sensitivity
    visibility: Visibility
    confidence: float
    importance: float
    explicit: bool
    valid_from: datetime
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    review_at: datetime | None = None
    status: MemoryStatus | None = None
    version: int = 0
    count: int = 0
    row: int = 0
    supersedes: bytes | None = None
    namespaces: Sequence[bytes] = ()
    body: bytes = b""
    content: Content | None = None
    intervals: list[Interval] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    stored: tuple[int, int] | None = None
