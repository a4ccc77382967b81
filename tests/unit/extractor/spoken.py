"""Turns for tests of the rules."""

from __future__ import annotations

from datetime import UTC, datetime

from consumers.extractor.rules import extract
from schemas.records import Draft, Segment, Spoken
from schemas.words import Origin, Role

# A Thursday in the second quarter.
AT = datetime(2026, 5, 14, 10, tzinfo=UTC)


def drafts(
    text: str,
    *,
    role: Role = Role.USER,
    origin: Origin = Origin.TYPED,
    timezone: str | None = "Europe/Paris",
    author_is_subject: bool = True,
) -> tuple[Draft, ...]:
    """Return the drafts of one turn of one segment."""
    spoken = Spoken(role, (Segment(text, origin),), AT, timezone, "c1", author_is_subject)
    found = extract(spoken)
    # F13: a quote is an exact span of what was said, whatever else a test looks at.
    assert all(draft.content.quote and draft.content.quote in text for draft in found)
    return found


def only(text: str) -> Draft:
    """Return the one draft of a turn."""
    found = drafts(text)
    assert len(found) == 1, found
    return found[0]


def claims(text: str) -> list[tuple[str, str, str]]:
    """Return key, value and polarity of every draft of a turn."""
    return [(draft.content.key, draft.content.value, str(draft.polarity)) for draft in drafts(text)]
