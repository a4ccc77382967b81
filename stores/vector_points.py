"""What a point of the index carries: keyed hashes, ids and numbers. Never text, terms or natural ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from schemas.words import MemoryStatus, MemoryType, Sensitivity, Visibility

NEVER: Final = 1 << 40
"""``expires_at`` of what does not expire: a range filter passes over absent fields."""

FIELDS: Final = {
    "tenant": "keyword",
    "namespaces": "keyword",
    "handle": "keyword",
    "epoch": "integer",
    "version": "integer",
    "status": "keyword",
    "type": "keyword",
    "sensitivity": "keyword",
    "visibility": "keyword",
    "expires_at": "integer",
    "memory": "keyword",
}
"""Every payload field and its index; strict mode refuses a filter on any other."""


@dataclass(frozen=True, slots=True)
class Point:
    """One version of one active memory, as the index holds it.

    Attributes:
        id: keyed hash of memory and version, 16 bytes.
        tenant: ref of the tenant.
        namespaces: keyed hash of each prefix of the namespace, shortest first.
        expires_at: None for never.
    """

    id: bytes
    memory: bytes
    version: int
    tenant: bytes
    handle: bytes
    epoch: int
    namespaces: Sequence[bytes]
    type: MemoryType
    sensitivity: Sensitivity
    visibility: Visibility
    expires_at: datetime | None = None

    def payload(self) -> dict[str, Any]:
        """Spell the point's fields as the index keeps them."""
        return {
            "tenant": self.tenant.hex(),
            "namespaces": [prefix.hex() for prefix in self.namespaces],
            "handle": self.handle.hex(),
            "epoch": self.epoch,
            "version": self.version,
            "status": MemoryStatus.ACTIVE.value,
            "type": self.type.value,
            "sensitivity": self.sensitivity.value,
            "visibility": self.visibility.value,
            "expires_at": NEVER if self.expires_at is None else int(self.expires_at.timestamp()),
            "memory": self.memory.hex(),
        }


@dataclass(frozen=True, slots=True)
class Hit:
    """What a search proposes: an id, the version it knew, cosine similarity. It proves nothing."""

    memory: bytes
    version: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Indexed:
    """A point as it is found in the index; a field that is not ours reads as empty."""

    id: bytes
    memory: bytes
    version: int
    handle: bytes
    epoch: int


def spell_id(point: bytes) -> str:
    """Write a point's id the way Qdrant takes it."""
    return str(UUID(bytes=point))


def read_id(spelled: int | str | UUID) -> bytes:
    """Read a point's id; a number, which is none of ours, is read too, so that it can be removed."""
    return UUID(int=spelled).bytes if isinstance(spelled, int) else UUID(str(spelled)).bytes


def read_point(spelled: int | str | UUID, payload: dict[str, Any] | None) -> Indexed:
    """Read what a scroll gives."""
    fields = payload or {}
    return Indexed(
        read_id(spelled),
        _bytes(fields.get("memory")),
        int(fields.get("version", -1)),
        _bytes(fields.get("handle")),
        int(fields.get("epoch", -1)),
    )


def _bytes(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        return b""
