"""What the read side passes around: the question, what the index proposed, what the truth vouches for, the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from schemas.records import Content
from schemas.words import MemoryType, Polarity, Sensitivity, SourceType


@dataclass(frozen=True, slots=True)
class Question:
    """One recall within the scope that the token fixed.

    ``at`` is the time asked about, in the asker's zone; None means now. ``scope`` names the project or device the
    asker works in. ``statements`` is what was just said and beats memory (R5). ``clearance`` is the most delicate
    sensitivity that may be returned; ``namespaces`` None allows all; ``role`` is the asker's.
    """

    tenant: str
    subject: str
    text: str
    limit: int
    token_budget: int
    at: datetime | None = None
    statements: tuple[str, ...] = ()
    scope: str | None = None
    conversation: str | None = None
    clearance: Sensitivity = Sensitivity.SENSITIVE
    namespaces: tuple[str, ...] | None = None
    role: str = ""

    @property
    def moment(self) -> datetime:
        """The time asked about."""
        return self.at or datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that PostgreSQL vouches for at this moment, opened."""

    id: str
    version: int
    type: MemoryType
    polarity: Polarity
    source_type: SourceType
    sensitivity: Sensitivity
    confidence: float
    importance: float
    explicit: bool
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    content: Content
    intervals: tuple[tuple[datetime | None, datetime | None], ...] = ()
    similarity: float = 0.0

    @property
    def slot(self) -> tuple[str, str]:
        """Namespace and key: what this memory speaks of."""
        return self.content.namespace, self.content.key


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory with its score and whether its conditions hold (None: cannot be told)."""

    memory: Known
    score: float
    relevance: float
    holds: bool | None = True
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """Why a proposed memory is not in the answer; ``reason`` is a fixed word."""

    memory: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What goes into the pack, what does not and why, and which slots stay undecided."""

    chosen: tuple[Ranked, ...]
    drops: tuple[Drop, ...]
    conflicts: tuple[tuple[Ranked, ...], ...] = ()


@dataclass(slots=True)
class Answer:
    """The context pack as JSON (cli.md, ``recall``)."""

    items: list[dict[str, Any]] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    degraded: bool = False
    trace: str | None = None
    session: Sequence[dict[str, Any]] | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer as the contract names its fields; ``session`` only where a conversation was named."""
        document: dict[str, Any] = {
            "items": self.items,
            "conflicts": self.conflicts,
            "degraded": self.degraded,
            "trace": self.trace,
        }
        if self.session is not None:
            document["session"] = list(self.session)
        return document


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer without its trace and session, and what its traces say.

    Attributes:
        items: of the pack.
        conflicts: of the pack.
        shown: ids of the items.
        named: ids of every memory in the answer, those in conflict too.
        seen: hits, drops and items as a trace has them.
        until: seconds since 1970 by the database's clock; later the answer would be another.
    """

    items: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]
    shown: list[str]
    named: list[str]
    seen: dict[str, Any]
    until: float
