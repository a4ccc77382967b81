"""Every topic, declared once: name, what its key is, partitions, retention (contracts, Events in Kafka)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DAY_MS = 24 * 60 * 60 * 1000
MAX_MESSAGE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic.

    Attributes:
        name: its name in Kafka.
        key: what its record key is.
        inbound: True where others write; such a log holds content and takes the broker's time.
        events: event types that may appear on it.
        retention_ms: how long records live, in milliseconds.
    """

    name: str
    key: Literal["tenant:subject", "handle", "tenant", "erasure id", "owner"]
    inbound: bool
    events: tuple[str, ...]
    retention_ms: int
    partitions: int = 4

    @property
    def config(self) -> dict[str, str]:
        """The topic's settings as Kafka spells them."""
        settings = {
            "cleanup.policy": "delete",
            "retention.ms": str(self.retention_ms),
            "segment.ms": str(DAY_MS),
        }
        if self.inbound:
            settings["message.timestamp.type"] = "LogAppendTime"
        if self.name == TURNS:
            settings["max.message.bytes"] = str(MAX_MESSAGE_BYTES)
        return settings


TURNS = "memory.turns"
DELETIONS = "memory.deletions"
DERIVATIONS = "memory.derivations"
ACKS = "memory.erasure-acks"
CANDIDATES = "memory.candidates"
DECISIONS = "memory.decisions"
CHANGES = "memory.changes"
ERASURES = "memory.erasures"
RECEIPTS = "memory.receipts"

TOPICS: tuple[Topic, ...] = (
    Topic(TURNS, "tenant:subject", True, ("org.obelus.turn.v1", "org.obelus.control.v1"), 7 * DAY_MS),
    Topic(DELETIONS, "tenant:subject", True, ("org.obelus.deletion.v1",), 7 * DAY_MS),
    Topic(DERIVATIONS, "tenant", True, ("org.obelus.derivation.v1",), 7 * DAY_MS),
    Topic(ACKS, "erasure id", True, ("org.obelus.erasure-ack.v1",), 7 * DAY_MS),
    Topic(CANDIDATES, "handle", False, ("org.obelus.candidate.v1",), 7 * DAY_MS),
    Topic(DECISIONS, "handle", False, ("org.obelus.decision.v1",), 7 * DAY_MS),
    Topic(CHANGES, "handle", False, ("org.obelus.change.v1",), 30 * DAY_MS),
    Topic(ERASURES, "owner", False, ("org.obelus.erasure.v1",), 90 * DAY_MS),
    Topic(RECEIPTS, "erasure id", False, ("org.obelus.receipt.v1",), 365 * DAY_MS),
)
"""All topics. Receipts and changes live longer: their readers are outside and may be away."""

BY_NAME = {topic.name: topic for topic in TOPICS}
