"""Every enumeration that outsiders see, written once (contracts, section Words)."""

from __future__ import annotations

from enum import StrEnum


class MemoryType(StrEnum):
    """What kind of thing a memory is (W3)."""

    PREFERENCE = "preference"
    TEMPORARY_PREFERENCE = "temporary_preference"
    FACT = "fact"
    GOAL = "goal"
    EXPERIENCE = "experience"
    BEHAVIOUR = "behaviour"


class Polarity(StrEnum):
    """Whether the person is for or against what the value names (W12)."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"


class SourceType(StrEnum):
    """Who vouches for a candidate; the order is authority, highest first (C3)."""

    USER_CONFIRMED = "user_confirmed"
    USER_STATED = "user_stated"
    TOOL_VERIFIED = "tool_verified"
    MODEL_INFERRED = "model_inferred"
    EXTERNAL = "external"

    @property
    def authority(self) -> int:
        """Rank in C3, higher is stronger."""
        return len(SourceType) - list(SourceType).index(self)


class Outcome(StrEnum):
    """What policy says of a candidate."""

    ACCEPT = "accept"
    REJECT = "reject"
    PEND = "pend"
    CONFIRM = "confirm"
    QUARANTINE = "quarantine"


class MemoryStatus(StrEnum):
    """State of a memory; only ``active`` is ever recalled."""

    SUGGESTED = "suggested"
    PENDING = "pending"
    ACTIVE = "active"
    CONFLICTED = "conflicted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REVOKED = "revoked"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


class Sensitivity(StrEnum):
    """How delicate a value is; the order is the clearance needed."""

    NONE = "none"
    PERSONAL = "personal"
    SENSITIVE = "sensitive"
    SECRET = "secret"  # noqa: S105 - a word of the contract, not a credential


class ErasureState(StrEnum):
    """State of a deletion request (design, section 7)."""

    PLANNED = "planned"
    BLOCKED = "blocked"
    ERASING = "erasing"
    PARTIAL = "partial"
    VERIFIED = "verified"
    FINAL = "final"
    NEEDS_HUMAN = "needs_human"
    CANCELLED = "cancelled"


class LineStatus(StrEnum):
    """What a receipt says of one store."""

    ERASED = "erased"
    NOTHING_FOUND = "nothing_found"
    NOT_CONFIGURED = "not_configured"
    RETAINED = "retained"
    EXPIRES = "expires"
    WITHHELD = "withheld"
    EXTERNAL = "external"
    OPEN = "open"


class Property(StrEnum):
    """What was proven of one store (design, section 4). Independent, not a ladder."""

    FENCED = "fenced"
    ABSENT = "absent"
    COMPACTED = "compacted"
    SHREDDED = "shredded"
    SPOILED = "spoiled"
    EXPIRED = "expired"


class Role(StrEnum):
    """Who wrote a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Origin(StrEnum):
    """How a segment of a turn came to be; everything but typed and voice is untrusted (W7)."""

    TYPED = "typed"
    PASTED = "pasted"
    QUOTED = "quoted"
    TOOL = "tool"
    ATTACHMENT = "attachment"
    VOICE = "voice"

    @property
    def trusted(self) -> bool:
        """True where the words are the speaker's own."""
        return self in (Origin.TYPED, Origin.VOICE)


class Visibility(StrEnum):
    """Whether a memory serves one person or everybody who shares the account (P9)."""

    PRIVATE = "private"
    SHARED = "shared"


class Actor(StrEnum):
    """Who orders a control."""

    PERSON = "person"
    PLATFORM = "platform"
    OPERATOR = "operator"


class Action(StrEnum):
    """What a control orders."""

    PAUSE = "pause"
    RESUME = "resume"
    OFF = "off"
    ON = "on"
    CONFIRM = "confirm"
    DECLINE = "decline"
    DISABLE = "disable"
    CORRECT = "correct"
    NARROW = "narrow"
    ROLLBACK = "rollback"
    REVERT = "revert"
    PRE_COMPRESS = "pre_compress"


class Consent(StrEnum):
    """Consent of a subject: ``paused`` stops writing and recall, ``off`` stops writing (P7)."""

    ON = "on"
    PAUSED = "paused"
    OFF = "off"


class TurnOutcome(StrEnum):
    """Final outcome of one position of ``memory.turns`` (design, section 6)."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    NOT_PERMITTED = "not_permitted"
    ERASED_SOURCE = "erased_source"


class SelectorKind(StrEnum):
    """What a deletion request selects."""

    MEMORY = "memory"
    KEY = "key"
    NAMESPACE = "namespace"
    MESSAGE = "message"
    CONVERSATION = "conversation"
    TIME = "time"
    SUBJECT = "subject"
    TENANT = "tenant"


class OwnKind(StrEnum):
    """Kinds of erasures that nobody asks for; in receipts they stand where a selector's kind does."""

    EXPIRY = "expiry"


class ApiRole(StrEnum):
    """Role that a bearer token fixes."""

    AGENT = "agent"
    PERSON = "person"
    COMPLIANCE = "compliance"
    OPERATOR = "operator"
