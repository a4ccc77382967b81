from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recall.model import Known, Ranked
from schemas.records import Content
from schemas.words import MemoryType, Polarity, Sensitivity, SourceType

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)  # a Saturday


def known(
    value: str,
    *,
    key: str = "thing",
    name: str | None = None,
    conditions: tuple[str, ...] = (),
    scope: str = "global",
    kind: MemoryType = MemoryType.PREFERENCE,
    polarity: Polarity = Polarity.POSITIVE,
    source: SourceType = SourceType.USER_STATED,
    age_days: float = 0,
    importance: float = 0.5,
    confidence: float = 0.9,
    similarity: float = 0.0,
    explicit: bool = False,
    valid_to: datetime | None = None,
    expires_at: datetime | None = None,
    intervals: tuple[tuple[datetime | None, datetime | None], ...] = (),
) -> Known:
    return Known(
        id=name or value,
        version=1,
        type=kind,
        polarity=polarity,
        source_type=source,
        sensitivity=Sensitivity.NONE,
        confidence=confidence,
        importance=importance,
        explicit=explicit,
        valid_from=NOW - timedelta(days=age_days),
        valid_to=valid_to,
        expires_at=expires_at,
        content=Content("preferences", key, value, value, conditions, scope),
        intervals=intervals,
        similarity=similarity,
    )


def ranked(
    value: str, score: float = 0.5, *, holds: bool | None = True, relevance: float = 0.5, **more: object
) -> Ranked:
    return Ranked(known(value, **more), score, relevance, holds)  # type: ignore[arg-type]
