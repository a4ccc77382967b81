"""From a record of ``memory.turns`` to a screened turn of a window. Nothing unscreened leaves this module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from policy.consent import CONSENT_ACTIONS
from policy.screening import screen
from schemas.errors import InvalidEvent
from schemas.events import Control, Turn
from schemas.words import Action
from streams.codec import Position, Record, decode, is_marker


@dataclass(frozen=True, slots=True)
class Heard:
    """A screened turn with its natural ids, which never leave this process."""

    position: Position
    tenant: str
    subject: str
    author: str
    conversation: str
    message_id: str
    revision: int
    role: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Ordered:
    """A word of consent met in the log, of a person or of one conversation."""

    position: Position
    tenant: str
    subject: str
    conversation: str | None
    action: Action


def hear(records: Iterable[Record]) -> Sequence[Heard | Ordered]:
    """Read and screen what windows are made of; anything else is passed over, the extractor answers for it."""
    found: list[Heard | Ordered] = []
    for record in records:
        if is_marker(record):
            continue
        try:
            event = decode(record)
        except InvalidEvent:
            continue
        if isinstance(event, Turn):
            found.append(_turn(event, record.position))
        elif isinstance(event, Control) and event.action in CONSENT_ACTIONS:
            found.append(Ordered(record.position, event.tenant, event.subject, event.conversation, event.action))
    return found


def _turn(event: Turn, position: Position) -> Heard:
    return Heard(
        position,
        event.tenant,
        event.subject,
        event.author or event.subject,
        event.conversation,
        event.message_id,
        event.revision,
        event.role.value,
        "\n".join(screen(part.text).text for part in event.parts),
        event.at.astimezone(UTC),
    )
