"""What a pattern finds in a sentence, before guards and context turn it into a draft."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.words import MemoryType, Polarity

PROFILE = "profile"
PREFERENCES = "preferences"
GOALS = "goals"
WORK = "work"
HEALTH = "health"
NOTES = "notes"

# An end without a name ("forget that"): the resolver takes the newest memory of the conversation.
LAST = "last"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim and where it stood; ``start`` and ``end`` are offsets into the sentence.

    ``conditions`` are those that the claim's own words name; what bounds a whole statement is found elsewhere.
    """

    namespace: str
    key: str
    value: str
    start: int
    end: int
    rule: str
    type: MemoryType = MemoryType.FACT
    polarity: Polarity = Polarity.NEUTRAL
    confidence: float = 0.85
    importance: float = 0.5
    replaces: bool = False
    ends: bool = False
    third_party: bool = False
    conditional: bool = True
    target: str | None = None
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a verb governs, with its offsets."""

    text: str
    start: int
    end: int
