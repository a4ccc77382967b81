"""Memories of one subject as whoever may see them sees them: opened, with their sources. Read only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from schemas.records import GLOBAL_SCOPE, Content
from schemas.words import MemoryStatus, MemoryType, Polarity, Sensitivity, SourceType, Visibility
from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.sql import load

_SQL = load("stores", "memory_records.sql")

ACTIVE = frozenset({MemoryStatus.ACTIVE})
"""An allow-list on purpose: a status that is added later is hidden until somebody asks for it (D8)."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory comes from: natural ids of the first conversation, and of every message."""

    conversation: str | None
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory with everything that the contract shows of it (C11). Times are UTC, ids hex."""

    id: str
    type: MemoryType
    polarity: Polarity
    status: MemoryStatus
    version: int
    source_type: SourceType
    sensitivity: Sensitivity
    visibility: Visibility
    confidence: float
    importance: float
    explicit: bool
    source_count: int
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    review_at: datetime | None
    last_used_at: datetime | None
    supersedes: str | None
    owner: str | None
    indexed_version: int | None
    created_at: datetime
    updated_at: datetime
    content: Content
    source: Source

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the contract (cli.md, ``memories``), and a few more."""
        content = self.content
        return {
            "id": self.id,
            "type": self.type,
            "namespace": content.namespace,
            "key": content.key,
            "value": content.value,
            "polarity": self.polarity,
            "conditions": list(content.conditions),
            "scope": content.scope,
            "status": self.status,
            "version": self.version,
            "confidence": round(self.confidence, 4),
            "importance": round(self.importance, 4),
            "sensitivity": self.sensitivity,
            "quote": content.quote,
            "source": {"conversation": self.source.conversation, "message_ids": list(self.source.message_ids)},
            "valid_from": stamp(self.valid_from),
            "valid_to": stamp(self.valid_to),
            "expires_at": stamp(self.expires_at),
            "supersedes": self.supersedes,
            "source_type": self.source_type,
            "source_count": self.source_count,
            "visibility": self.visibility,
            "explicit": self.explicit,
            "review_at": stamp(self.review_at),
            "last_used_at": stamp(self.last_used_at),
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
        }


def load_memories(
    tx: Connection,
    keys: SubjectKeys,
    epoch: int,
    statuses: Collection[MemoryStatus] = ACTIVE,
    ids: Sequence[bytes] | None = None,
) -> list[MemoryRecord]:
    """Return all memories of one subject in the given statuses, in the order in which they came about.

    Args:
        tx: a connection.
        keys: of the subject's handle; nothing of another handle is ever read.
        epoch: the subject's epoch.
        statuses: which to return.
        ids: only these memories (16 bytes each), where given.

    Raises:
        KeyMissing: a body does not open.
    """
    given = {
        "handle": keys.handle,
        "epoch": epoch,
        "statuses": [status.value for status in statuses],
        "ids": None if ids is None else list(ids),
        # Past its time is out of use at once; the expiry's tick only writes it down.
        "expired": MemoryStatus.EXPIRED in statuses,
    }
    rows = tx.execute(_SQL.memories, given).fetchall()
    sources = _sources(tx, keys, [row[0] for row in rows]) if rows else {}
    return [_record(keys, row, sources.get(row[0], Source(None, ()))) for row in rows]


def content_of(document: Mapping[str, Any]) -> Content:
    """Return what an opened body says."""
    return Content(
        namespace=document["namespace"],
        key=document["key"],
        value=document["value"],
        quote=document.get("quote") or "",
        conditions=tuple(document.get("conditions") or ()),
        scope=document.get("scope") or GLOBAL_SCOPE,
    )


def stamp(at: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def _sources(tx: Connection, keys: SubjectKeys, ids: Sequence[bytes]) -> dict[bytes, Source]:
    conversations: dict[bytes, str | None] = {}
    messages: defaultdict[bytes, dict[str, None]] = defaultdict(dict)
    given = {"handle": keys.handle, "ids": ids}
    for memory, candidate, body in tx.execute(_SQL.sources, given).fetchall():
        names = orjson.loads(keys.open(candidate, body))
        conversations.setdefault(memory, names.get("conversation"))
        if names.get("message_id") is not None:
            messages[memory][names["message_id"]] = None
    return {memory: Source(name, tuple(messages[memory])) for memory, name in conversations.items()}


def _record(keys: SubjectKeys, row: tuple[Any, ...], source: Source) -> MemoryRecord:
    return MemoryRecord(
        *(
            row[0].hex(),
            MemoryType(row[1]),
            Polarity(row[2]),
            MemoryStatus(row[3]),
            row[4],
            SourceType(row[5]),
            Sensitivity(row[6]),
            Visibility(row[7]),
            *row[8:17],
            row[17].hex() if row[17] else None,
            *row[18:22],
            content_of(orjson.loads(keys.open(row[0], row[22]))),
            source,
        )
    )
