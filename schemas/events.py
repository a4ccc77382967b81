"""Events on the log: what outsiders send, and what our consumers tell each other (contracts, Events in Kafka).

Events from outside ignore unknown fields (facts may grow). Events of ours carry ids, types, versions, epochs and
codes only, never content or a natural id.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from schemas.ids import Id, Namespace
from schemas.words import (
    Action,
    Actor,
    MemoryStatus,
    MemoryType,
    Origin,
    Outcome,
    Role,
    SelectorKind,
    SourceType,
    Visibility,
)

MAX_TEXT_BYTES = 1 << 20
MAX_FUTURE_HOURS = 24


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("not an IANA time zone") from None
    return name


def _check_instant(at: datetime) -> datetime:
    if not MINYEAR < at.year < MAXYEAR:
        try:
            at.astimezone(UTC)
        except OverflowError:
            raise ValueError("a time outside the years 1 to 9999") from None
    return at


def _check_written(at: object) -> object:
    # A number could be seconds or milliseconds, and a guess would move a turn by decades.
    if isinstance(at, datetime) or (isinstance(at, str) and at[4:5] == "-"):
        return at
    raise ValueError("a time is written as RFC 3339 has it")


Instant = Annotated[AwareDatetime, AfterValidator(_check_instant), BeforeValidator(_check_written)]
Zone = Annotated[str, AfterValidator(_check_zone)]
HexId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Value = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class Event(BaseModel):
    """Base of all events: frozen, unknown fields ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TurnSegment(Event):
    """A stretch of a turn with one origin."""

    text: str
    origin: Origin = Origin.TYPED


class Turn(Event):
    """One message of a conversation, ``org.obelus.turn.v1`` on ``memory.turns``."""

    tenant: Id
    subject: Id
    author: Id | None = None
    conversation: Id
    message_id: Id
    revision: int = Field(default=0, ge=0, le=2**31 - 1)
    role: Role
    text: str | None = None
    segments: tuple[TurnSegment, ...] | None = None
    at: Instant
    timezone: Zone | None = None
    account: Id | None = None
    agent: Id | None = None
    visibility: Visibility = Visibility.PRIVATE
    metadata: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _text_or_segments(self) -> Self:
        if (self.text is None) == (self.segments is None):
            raise ValueError("exactly one of text and segments")
        return self

    @property
    def parts(self) -> tuple[TurnSegment, ...]:
        """The turn as segments, whichever form it came in."""
        return self.segments if self.segments is not None else (TurnSegment(text=self.text or ""),)


class Control(Event):
    """What a person or platform orders, ``org.obelus.control.v1`` on ``memory.turns``."""

    tenant: Id
    subject: Id
    request_id: Id
    actor: Actor
    at: Instant
    action: Action
    conversation: Id | None = None
    memory: HexId | None = None
    value: Value | None = None
    scope: Namespace | None = None
    since: Instant | None = None
    until: Instant | None = None

    @model_validator(mode="after")
    def _has_what_its_action_needs(self) -> Self:
        needs_memory = {
            Action.CONFIRM,
            Action.DECLINE,
            Action.DISABLE,
            Action.CORRECT,
            Action.NARROW,
            Action.ROLLBACK,
        }
        if self.action in needs_memory and self.memory is None:
            raise ValueError("this action needs memory")
        if self.action is Action.CORRECT and self.value is None:
            raise ValueError("correct needs value")
        if self.action is Action.NARROW and self.scope is None:
            raise ValueError("narrow needs scope")
        if self.action is Action.PRE_COMPRESS and self.conversation is None:
            raise ValueError("pre_compress needs conversation")
        if self.action is Action.REVERT and self.conversation is None and self.since is None and self.until is None:
            raise ValueError("revert needs conversation or a time range")
        return self


class Selector(Event):
    """What a deletion request selects; every kind but ``tenant`` names a subject."""

    kind: SelectorKind
    subject: Id | None = None
    id: HexId | None = None
    key: Value | None = None
    namespace: Namespace | None = None
    message: Id | None = None
    conversation: Id | None = None
    since: Instant | None = None
    until: Instant | None = None

    @model_validator(mode="after")
    def _names_what_it_selects(self) -> Self:
        if (self.kind is SelectorKind.TENANT) == (self.subject is not None):
            raise ValueError("every kind but tenant needs subject, and tenant takes none")
        field = {
            SelectorKind.MEMORY: "id",
            SelectorKind.SUBJECT: "subject",
            SelectorKind.TENANT: "",
        }.get(self.kind, self.kind.value)
        if self.kind is SelectorKind.TIME:
            if self.since is None and self.until is None:
                raise ValueError("time needs since or until")
            if self.since is not None and self.until is not None and self.since > self.until:
                raise ValueError("since is after until")
        elif field and getattr(self, field) is None:
            raise ValueError(f"{self.kind} needs {field}")
        return self


class Deletion(Event):
    """A deletion request, ``org.obelus.deletion.v1`` on ``memory.deletions``."""

    request_id: Id
    tenant: Id
    requested_by: Id
    selector: Selector | None = None
    deadline: Instant | None = None
    legal_basis: Annotated[str, StringConstraints(max_length=256)] | None = None
    plan_digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    cancel: bool = False
    nonce: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43}=?$")] | None = None

    @model_validator(mode="after")
    def _selects_or_cancels(self) -> Self:
        if not self.cancel and self.selector is None:
            raise ValueError("selector is required")
        return self


class Derivation(Event):
    """An outside owner says what it made from memories, ``org.obelus.derivation.v1``."""

    owner: Id
    artefact: Id
    kind: Id
    tenant: Id
    parents: tuple[dict[str, str], ...] = Field(min_length=1)
    at: Instant


class CandidateEvent(Event):
    """A candidate waits in PostgreSQL, ``org.obelus.candidate.v1`` on ``memory.candidates``."""

    id: HexId
    handle: HexId
    epoch: int
    type: MemoryType
    source_type: SourceType


class DecisionEvent(Event):
    """Policy has decided, ``org.obelus.decision.v1`` on ``memory.decisions``."""

    id: HexId
    handle: HexId
    epoch: int
    outcome: Outcome
    rule: str


class Change(Event):
    """A memory has a new version, ``org.obelus.change.v1`` on ``memory.changes``.

    For a whole handle ``status`` is ``blocked`` or ``erased``, and ``id`` and ``version`` are absent.
    """

    id: HexId | None = None
    version: int | None = None
    status: MemoryStatus | Literal["blocked", "erased"]
    handle: HexId
    epoch: int


class ArtefactPage(Event):
    """Artefacts by reference: how many, a digest of the sorted list, and where to page through it."""

    count: int
    digest: str
    page: str


class Erasure(Event):
    """An order to an outside owner, ``org.obelus.erasure.v1`` on ``memory.erasures``."""

    erasure_id: HexId
    challenge: str
    owner: Id
    action: Literal["erase", "recompute", "quarantine"]
    artefacts: ArtefactPage
    deadline: Instant


class ErasureAck(Event):
    """An outside owner's answer, ``org.obelus.erasure-ack.v1`` on ``memory.erasure-acks``."""

    erasure_id: HexId
    challenge: str
    owner: Id
    state: Literal["done", "in_progress", "refused"]
    expected: int | None = None
    evidence: str | None = None
    signature: str | None = None


class Receipt(Event):
    """A DSSE envelope, ``org.obelus.receipt.v1`` on ``memory.receipts``; the key is the erasure id."""

    payload: str
    payloadType: Literal["application/vnd.in-toto+json"]
    signatures: tuple[dict[str, str], ...]


EVENT_TYPES: dict[str, type[Event]] = {
    "org.obelus.turn.v1": Turn,
    "org.obelus.control.v1": Control,
    "org.obelus.deletion.v1": Deletion,
    "org.obelus.derivation.v1": Derivation,
    "org.obelus.candidate.v1": CandidateEvent,
    "org.obelus.decision.v1": DecisionEvent,
    "org.obelus.change.v1": Change,
    "org.obelus.erasure.v1": Erasure,
    "org.obelus.erasure-ack.v1": ErasureAck,
    "org.obelus.receipt.v1": Receipt,
}
"""Every event type and its model; the version is the type's suffix."""
