"""From a screened turn to drafts: who may be believed, and what is only of this session."""

from __future__ import annotations

from datetime import datetime

import orjson

from consumers.extractor.rules import extract
from schemas.records import Draft, Segment, Spoken
from schemas.words import Origin, Role, Visibility


def drafts_of(spoken: Spoken) -> tuple[Draft, ...]:
    """Return what a turn might make worth remembering; only what the person says counts (W11)."""
    return extract(spoken) if spoken.role is Role.USER else ()


def recall_turn(body: bytes, role: str, at: datetime) -> tuple[Draft, ...]:
    """Return the drafts of a stored turn, from its opened body."""
    if role != Role.USER:
        return ()
    fields = orjson.loads(body)
    return drafts_of(
        Spoken(
            Role.USER,
            tuple(Segment(part["text"], Origin(part["origin"])) for part in fields["segments"]),
            at,
            fields.get("timezone"),
            fields["conversation"],
            "author" not in fields,
            Visibility(fields.get("visibility", Visibility.PRIVATE)),
        )
    )
