"""From a derivation's words to keyed references: what was made, by whom, from what."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from schemas.errors import InvalidEvent
from schemas.events import Derivation
from schemas.ids import check_id
from stores.sealing import Lookup
from streams.codec import Position

_HEX_ID = 32


@dataclass(frozen=True, slots=True)
class Message:
    """A parent that is a message.

    Attributes:
        subject: reference of the subject.
        message: natural id, needed to compute the turn's id under the subject's key; kept nowhere.
        tomb: the tombstone by which it is recognised once it is erased.
    """

    subject: bytes
    message: str
    tomb: bytes


@dataclass(frozen=True, slots=True)
class Registration:
    """One artefact as its owner registered it; ``at_ms`` is the owner's own time."""

    position: Position
    id: bytes
    tenant: bytes
    owner: str
    body: bytes
    at_ms: int
    memories: tuple[bytes, ...]
    messages: tuple[Message, ...]


def registration(position: Position, event: Derivation, lookup: Lookup) -> Registration:
    """Name artefact and parents by keyed hashes.

    Raises:
        InvalidEvent: a parent is neither ``{"memory": id}`` nor ``{"subject": id, "message": id}``.
    """
    identity = lookup.artefact(event.owner, event.artefact)
    memories = [_memory(parent["memory"]) for parent in event.parents if "memory" in parent]
    messages = [_message(parent, lookup) for parent in event.parents if "memory" not in parent]
    plain = orjson.dumps({"artefact": event.artefact, "kind": event.kind})
    return Registration(
        position,
        identity,
        lookup.tenant_ref,
        event.owner,
        lookup.seal(identity, plain),
        int(event.at.timestamp() * 1000),
        tuple(memories),
        tuple(messages),
    )


def _memory(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        raise InvalidEvent("invalid_id") from None
    if len(text) != _HEX_ID or len(found) != _HEX_ID // 2:
        raise InvalidEvent("invalid_id")
    return found


def _message(parent: dict[str, str], lookup: Lookup) -> Message:
    # Turns call it message_id, deletions message; an owner may follow either.
    message = parent.get("message", parent.get("message_id"))
    subject = parent.get("subject")
    if message is None or subject is None:
        raise InvalidEvent("missing_field")
    try:
        check_id(subject), check_id(message)
    except ValueError:
        raise InvalidEvent("invalid_id") from None
    return Message(lookup.subject(subject), message, lookup.tombstone("message", subject, message))
