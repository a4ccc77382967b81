"""Records that pure rules take and give. Frozen; content fields are sealed before they are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from schemas.words import (
    Action,
    MemoryType,
    Origin,
    Outcome,
    Polarity,
    Role,
    Sensitivity,
    SourceType,
    Visibility,
)

GLOBAL_SCOPE = "global"


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a turn with one origin. ``text`` is already screened."""

    text: str
    origin: Origin = Origin.TYPED


@dataclass(frozen=True, slots=True)
class Spoken:
    """A screened turn as the rules see it. ``at`` is UTC, ``timezone`` the speaker's IANA name or None."""

    role: Role
    segments: tuple[Segment, ...]
    at: datetime
    timezone: str | None
    conversation: str
    author_is_subject: bool = True
    visibility: Visibility = Visibility.PRIVATE


@dataclass(frozen=True, slots=True)
class Content:
    """What a candidate or memory says: the part that is sealed under the subject's key.

    ``key`` names the slot that the value fills ("editor", "likes.oysters"): two claims with the same
    namespace, key, conditions and scope speak of the same thing (C1). ``quote`` is the exact source span,
    in the language of the source (W12).
    """

    namespace: str
    key: str
    value: str
    quote: str
    conditions: tuple[str, ...] = ()
    scope: str = GLOBAL_SCOPE


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim that an extractor found in a turn, before it has an id (W2).

    ``explicit`` marks the person's own "remember"; ``replaces`` marks a stated change of mind or correction;
    ``ends`` says that what the slot held is no longer so. Times are UTC.
    """

    content: Content
    type: MemoryType
    polarity: Polarity
    source_type: SourceType
    confidence: float
    importance: float
    sensitivity: Sensitivity = Sensitivity.NONE
    explicit: bool = False
    replaces: bool = False
    ends: bool = False
    third_party: bool = False
    unresolved_scope: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    visibility: Visibility = Visibility.PRIVATE
    rule: str = ""
    action: Action | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What policy says of a draft: outcome, the rule that matched, reason codes (never content)."""

    outcome: Outcome
    rule: str
    reasons: tuple[str, ...] = field(default=())
