"""What the resolver knows of a batch before the lock, under the lock, and after it has decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from consumers.deadletters import DeadLetter
from consumers.settling.evidence import Ending, Evidence, Order
from consumers.settling.memory import Memory, Slot
from schemas.records import Content, Draft
from schemas.words import MemoryStatus, Outcome, SourceType
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow
from streams.codec import Position


@dataclass(frozen=True, slots=True)
class Announced:
    """A decision as the log announced it."""

    position: Position
    id: bytes
    handle: bytes
    epoch: int


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch in log order, and the positions that hold no event."""

    items: tuple[Announced, ...]
    dead_letters: tuple[DeadLetter, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a decision's candidate comes from.

    Attributes:
        row: number of the turn in the event log; for a control that of the last turn before it.
        step: 0 for a turn; for a control one more than its offset.
        at: when it was said or ordered.
        turn: id of the turn, None for a control.
        control: id of the control, None for a turn.
        conversation: keyed hash, None for a control.
        actor: who ordered it, empty for a turn.
        names: what is sealed into the source: natural ids of conversation and message.
    """

    row: int
    step: int
    at: datetime
    turn: bytes | None = None
    control: bytes | None = None
    conversation: bytes | None = None
    actor: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Revert:
    """What a control takes back: one conversation (keyed hash), or what was said from ``since`` until ``until``.

    ``before`` is its own place in the event log, row and step: what is said after it stays.
    """

    before: tuple[int, int]
    conversation: bytes | None
    since: datetime | None
    until: datetime | None

    def covers(self, order: Order, conversation: bytes | None, at: datetime) -> bool:
        """True where something said there and then is taken back."""
        if order[:2] >= self.before:
            return False
        if self.conversation is not None and conversation != self.conversation:
            return False
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision with everything it rests on, opened.

    Attributes:
        identities: slots that it may touch; the first is the claim's own.
        digests: for an ending, the values that it ends; None for any.
        target: memory that an order is about; None where there is none.
        content: of the target, for orders that make a memory of it.
        narrowed: slot that a ``narrow`` moves the target to.
        revert: what a ``revert`` takes back.
        lifetime: end of a claim that states none, by its type.
    """

    position: Position
    candidate: bytes
    outcome: Outcome
    rule: str
    decided_at: datetime
    draft: Draft
    origin: Origin
    subject: SubjectRow
    keys: SubjectKeys
    author: bytes
    identities: tuple[bytes, ...] = ()
    digests: frozenset[bytes] | None = None
    target: bytes | None = None
    content: Content | None = None
    narrowed: bytes | None = None
    revert: Revert | None = None
    review_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def order(self) -> Order:
        """Its place in the event log."""
        return self.origin.row, self.origin.step, self.draft.replaces, self.candidate

    @property
    def cause(self) -> Cause:
        """What history says of it: an order is its giver's, a claim whoever vouches for it."""
        actor = self.origin.actor or _ACTORS[self.draft.source_type]
        return Cause(self.subject, self.keys, actor, self.candidate, self.position)


class Cause(NamedTuple):
    """Who and what is behind a change (C10); a tick has neither candidate nor position."""

    subject: SubjectRow
    keys: SubjectKeys
    actor: str
    candidate: bytes | None = None
    position: Position | None = None


_ACTORS = {
    SourceType.USER_CONFIRMED: "person",
    SourceType.USER_STATED: "person",
    SourceType.TOOL_VERIFIED: "tool",
    SourceType.MODEL_INFERRED: "model",
    SourceType.EXTERNAL: "external",
}


class Version(NamedTuple):
    """A row of a memory's history."""

    memory: bytes
    version: int
    status: MemoryStatus
    rule: str
    cause: Cause


class Support(NamedTuple):
    """A piece of evidence to be stored as a source, with the decision that it came by."""

    memory: bytes
    evidence: Evidence
    decided: Decided


class StoredEnding(NamedTuple):
    """An ending to be stored, with the slot that it is for."""

    identity: bytes
    ending: Ending
    decided: Decided


@dataclass(frozen=True, slots=True)
class State:
    """What the stores say of a batch, read under the lock.

    Attributes:
        decided: every decision that still stands, by candidate.
        erased: candidates whose source is gone.
        refused: candidates that consent holds back, now or earlier.
        applied: candidates that already left something behind.
        memories: all memories of the slots that the batch may touch.
        endings: endings of those slots.
        reverts: what was taken back of each person, by handle.
        now: the database's clock.
    """

    decided: Mapping[bytes, Decided]
    erased: frozenset[bytes]
    refused: Mapping[bytes, SubjectRow]
    applied: frozenset[bytes]
    memories: Sequence[Memory]
    endings: Mapping[Slot, Sequence[Ending]]
    now: datetime
    reverts: Mapping[bytes, Sequence[Revert]] = field(default_factory=dict)


@dataclass(slots=True)
class Result:
    """What a batch changes. Versions are in the order in which they came about."""

    dead_letters: list[DeadLetter] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    memories: dict[bytes, Memory] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    supports: list[Support] = field(default_factory=list)
    endings: list[StoredEnding] = field(default_factory=list)
    voided: set[tuple[bytes, bytes]] = field(default_factory=set)
    unended: set[bytes] = field(default_factory=set)
    controls: list[tuple[bytes, bool, str]] = field(default_factory=list)
    refusals: list[tuple[bytes, bytes, Position]] = field(default_factory=list)
