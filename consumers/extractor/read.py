"""From a record of ``memory.turns`` to a screened turn or control. Nothing unscreened leaves this module.

The body of a stored turn has the contract's own names: ``conversation``, ``message_id``, ``segments`` (each
``text`` and ``origin``), and where they were given ``author``, ``account``, ``agent``, ``visibility``,
``timezone`` and ``metadata``. Role and time are columns of its row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from consumers.deadletters import DeadLetter
from consumers.extractor.controls import read_control
from consumers.extractor.model import Heard, Item, Order
from consumers.extractor.propose import drafts_of
from consumers.extractor.screened import screened_object, screened_text
from schemas.errors import InvalidEvent
from schemas.events import Control, Event, Turn
from schemas.records import Segment, Spoken
from schemas.words import Origin, Visibility
from stores.sealing import Lookup
from stores.subjects import Pair
from stores.vault import Vault
from streams.codec import Position, Record, decode

Decoded = Sequence[tuple[Event, Position]]
"""Events of a batch in log order, with their positions."""
Said = tuple[Position, datetime]
"""Where a record lies, and its own time."""


def who(events: Decoded) -> dict[Pair, list[Said]]:
    """Say of every subject and author where and when they have records."""
    said: dict[Pair, list[Said]] = defaultdict(list)
    for event, position in events:
        assert isinstance(event, Turn | Control)  # noqa: S101 - decode knows what a topic carries
        at = event.at.astimezone(UTC)
        said[event.tenant, event.subject].append((position, at))
        if isinstance(event, Turn) and event.author not in (None, event.subject):
            said[event.tenant, event.author or ""].append((position, at))
    return said


class Reader:
    """Reads one batch; refs of its few subjects and conversations are computed once."""

    def __init__(self, vault: Vault) -> None:
        """Start a batch with the vault that holds the tenants' lookup keys."""
        self._vault = vault
        self._lookups: dict[str, Lookup] = {}
        self._subjects: dict[tuple[str, str], bytes] = {}
        self._conversations: dict[tuple[str, str, str], bytes] = {}

    def decode(self, batch: Sequence[Record]) -> tuple[Decoded, tuple[DeadLetter, ...]]:
        """Return the events of a batch in log order, and the rest with the reason."""
        events: list[tuple[Event, Position]] = []
        dead: list[DeadLetter] = []
        for record in sorted(batch, key=_position):
            try:
                events.append((decode(record), record.position))
            except InvalidEvent as error:
                dead.append(DeadLetter(record.position, error.reason))
        return tuple(events), tuple(dead)

    def read(self, events: Decoded) -> tuple[Item, ...]:
        """Screen and read what was decoded.

        Raises:
            TransientError: screening failed; nothing passes unscreened.
        """
        return tuple(self._item(event, position) for event, position in events)

    def _item(self, event: Event, position: Position) -> Item:
        if isinstance(event, Turn):
            return self.turn(event, position)
        assert isinstance(event, Control)  # noqa: S101 - decode knows what a topic carries
        return self.control(event, position)

    def turn(self, turn: Turn, position: Position) -> Heard:
        """Screen a turn and let the rules look at it."""
        segments, kinds = _screened(turn)
        metadata = None
        if turn.metadata:
            metadata, more = screened_object(turn.metadata)
            kinds += more
        at = turn.at.astimezone(UTC)
        subject = self._subject(turn.tenant, turn.subject)
        own = turn.author is None or turn.author == turn.subject
        author = subject if own else self._subject(turn.tenant, turn.author or "")
        lookup = self._lookups[turn.tenant]
        written = [{"text": segment.text, "origin": segment.origin} for segment in segments]
        spoken = Spoken(turn.role, segments, at, turn.timezone, turn.conversation, own, turn.visibility)
        return Heard(
            position=position,
            subject=subject,
            author=author,
            consent=self._conversation(turn.tenant, turn.subject, turn.conversation),
            tombstone=lookup.tombstone("message", turn.subject, turn.message_id),
            conversation=turn.conversation,
            message_id=turn.message_id,
            revision=turn.revision,
            role=turn.role,
            at=at,
            said=orjson.dumps([turn.role, None if own else turn.author, turn.conversation, written]),
            body=orjson.dumps(_body(turn, written, own, metadata)),
            kinds=kinds,
            drafts=drafts_of(spoken),
        )

    def control(self, control: Control, position: Position) -> Order:
        """Screen a control; what it brings in becomes a draft."""
        read = read_control(control)
        subject = self._subject(control.tenant, control.subject)
        conversation = control.conversation
        return Order(
            position=position,
            subject=subject,
            consent=self._conversation(control.tenant, control.subject, conversation) if conversation else None,
            conversation=conversation,
            request_id=control.request_id,
            action=control.action,
            actor=control.actor,
            at=control.at.astimezone(UTC),
            body=read.body,
            kinds=read.kinds,
            draft=read.draft,
        )

    def _subject(self, tenant: str, subject: str) -> bytes:
        ref = self._subjects.get((tenant, subject))
        if ref is None:
            ref = self._lookup(tenant).subject(subject)
            self._subjects[tenant, subject] = ref
        return ref

    def _conversation(self, tenant: str, subject: str, conversation: str) -> bytes:
        place = (tenant, subject, conversation)
        ref = self._conversations.get(place)
        if ref is None:
            ref = self._conversations[place] = self._lookup(tenant).conversation(subject, conversation)
        return ref

    def _lookup(self, tenant: str) -> Lookup:
        lookup = self._lookups.get(tenant)
        if lookup is None:
            lookup = self._vault.lookup(tenant, create=True)
            assert lookup is not None  # noqa: S101 - it was just created
            self._lookups[tenant] = lookup
        return lookup


def _position(record: Record) -> Position:
    return record.position


def _screened(turn: Turn) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    if turn.segments is None:
        text, kinds = screened_text(turn.text or "")
        return (Segment(text, Origin.TYPED),), kinds
    segments: list[Segment] = []
    found: list[str] = []
    for part in turn.segments:
        text, kinds = screened_text(part.text)
        segments.append(Segment(text, part.origin))
        found += kinds
    return tuple(segments), tuple(found)


def _body(turn: Turn, segments: list[dict[str, Any]], own: bool, metadata: dict[str, Any] | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "conversation": turn.conversation,
        "message_id": turn.message_id,
        "segments": segments,
    }
    if not own:
        body["author"] = turn.author
    if turn.timezone:
        body["timezone"] = turn.timezone
    if turn.visibility is not Visibility.PRIVATE:
        body["visibility"] = turn.visibility
    if turn.account:
        body["account"] = turn.account
    if turn.agent:
        body["agent"] = turn.agent
    if metadata:
        body["metadata"] = metadata
    return body
