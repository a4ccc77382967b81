"""Ids of what the extractor stores: keyed hashes under the handle, so that a repeat gives the same row."""

from __future__ import annotations

from consumers.extractor.rules import NAME, VERSION
from stores.sealing import SubjectKeys

EXTRACTOR = f"{NAME}/{VERSION}"
"""Name and version of the rule extractor; a new version may propose anew what an old one did."""


def turn_id(keys: SubjectKeys, message_id: str) -> bytes:
    """Return the id of a turn, the same for every revision of its message."""
    return keys.id("turn", message_id)


def refusal_id(keys: SubjectKeys, message_id: str, revision: int) -> bytes:
    """Return the id under which a refused edit (a revision above 0) is remembered; the first text has the turn's."""
    return keys.id("turn", message_id, str(revision))


def order_id(keys: SubjectKeys, request_id: str) -> bytes:
    """Return the id of a control."""
    return keys.id("control", request_id)


def conversation_id(keys: SubjectKeys, conversation: str) -> bytes:
    """Return the id of a conversation in the event log; unlike the consent's ref it dies with the handle."""
    return keys.id("conversation", conversation)


def candidate_id(keys: SubjectKeys, parent: bytes, revision: int, ordinal: int) -> bytes:
    """Return the id of the candidate with a number among those of one turn's revision or one control."""
    number = f"{revision}.{ordinal}" if revision else str(ordinal)
    return keys.id("candidate", parent, EXTRACTOR, number)
