"""What the extractor knows of a batch before the lock, under the lock, and after it has decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from consumers.deadletters import DeadLetter
from schemas.records import Draft
from schemas.words import Action, Actor, Consent
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow
from streams.codec import Position


class Heard(NamedTuple):
    """A turn that is valid and screened; nothing unscreened is left in it.

    ``subject``, ``author``, ``consent`` (of the conversation) and ``tombstone`` are keyed hashes under
    the tenant's lookup key. ``said`` is what makes the turn the same or another one,
    ``body`` what is sealed, both JSON. ``kinds`` are those of what screening took out.
    """

    position: Position
    subject: bytes
    author: bytes
    consent: bytes
    tombstone: bytes
    conversation: str
    message_id: str
    revision: int
    role: str
    at: datetime
    said: bytes
    body: bytes
    kinds: tuple[str, ...] = ()
    drafts: tuple[Draft, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """A control that is valid and screened. ``draft`` is what becomes a candidate, None for the others."""

    position: Position
    subject: bytes
    consent: bytes | None
    conversation: str | None
    request_id: str
    action: Action
    actor: Actor
    at: datetime
    body: bytes
    kinds: tuple[str, ...] = ()
    draft: Draft | None = None


Item = Heard | Order


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch in log order, and the positions that hold no event."""

    items: tuple[Item, ...]
    dead_letters: tuple[DeadLetter, ...] = ()

    @property
    def refs(self) -> set[bytes]:
        """Subjects and authors of the batch."""
        authors = {item.author for item in self.items if isinstance(item, Heard)}
        return authors | {item.subject for item in self.items}


@dataclass(frozen=True, slots=True)
class Known:
    """The stored form of a message: its revision, its digest and the position it came from."""

    revision: int
    digest: bytes
    position: Position


@dataclass(frozen=True, slots=True)
class Remembered:
    """A stored turn of a conversation that is read again before a platform compresses it."""

    id: bytes
    revision: int
    body: bytes
    role: str
    at: datetime


@dataclass(frozen=True, slots=True)
class State:
    """What the stores say of a batch, read under the lock; mappings without an entry mean "none".

    Attributes:
        subjects: rows of subjects and authors by ref.
        keys: keys of every live handle in ``subjects``.
        names: row ids of the turns and controls that are not fenced, by position.
        conversations: consent of conversations, by subject and conversation ref; a missing one is on.
        known: stored turns by id.
        refused: ids of turns that were refused for good.
        orders: ids of controls that were stored.
        tombstones: those of the batch that the vault knows.
        remembered: turns of conversations to be read again, by handle and conversation id.
        proposed: candidates that those turns already have.
    """

    subjects: Mapping[bytes, SubjectRow]
    keys: Mapping[bytes, SubjectKeys]
    names: Mapping[Position, bytes]
    conversations: Mapping[tuple[bytes, bytes], Consent] = field(default_factory=dict)
    known: Mapping[bytes, Known] = field(default_factory=dict)
    refused: Set[bytes] = frozenset()
    orders: Set[bytes] = frozenset()
    tombstones: Set[bytes] = frozenset()
    remembered: Mapping[tuple[bytes, bytes], Sequence[Remembered]] = field(default_factory=dict)
    proposed: Set[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A row of the event log, body still open."""

    id: bytes
    heard: Heard
    conversation: bytes
    digest: bytes
    subject: SubjectRow
    author: SubjectRow
    keys: SubjectKeys


@dataclass(frozen=True, slots=True)
class OrderRow:
    """A row of the controls, body still open; ``outcome`` is None while gate and resolver have it."""

    id: bytes
    order: Order
    outcome: str | None
    subject: SubjectRow
    keys: SubjectKeys


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate, draft still open; exactly one of ``turn`` and ``control`` is its parent."""

    id: bytes
    draft: Draft
    consent: bytes | None
    turn: bytes | None
    control: bytes | None
    position: Position
    subject: SubjectRow
    author: SubjectRow
    keys: SubjectKeys


@dataclass(frozen=True, slots=True)
class Refusal:
    """A turn that was met while consent was not on: its keyed id, and nothing else of it."""

    id: bytes
    handle: bytes
    position: Position


@dataclass(slots=True)
class Result:
    """What a batch changes. ``turns`` are new, ``revised`` replace the text of a stored one."""

    dead_letters: list[DeadLetter] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    turns: dict[bytes, TurnRow] = field(default_factory=dict)
    revised: dict[bytes, TurnRow] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    orders: list[OrderRow] = field(default_factory=list)
    consents: dict[bytes, Consent] = field(default_factory=dict)
    conversations: dict[tuple[bytes, bytes], Consent] = field(default_factory=dict)
    candidates: dict[bytes, CandidateRow] = field(default_factory=dict)
    kinds: list[tuple[bytes, str, Position]] = field(default_factory=list)
