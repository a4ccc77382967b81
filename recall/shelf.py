"""Memories as lists and single items, for agents and for the person (U1)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from recall.people import Life, find
from recall.truth import SQL
from schemas.words import Consent, MemoryStatus
from stores.database import Connection
from stores.memory_records import ACTIVE, MemoryRecord, load_memories
from stores.subjects import load_by_ref
from stores.vault import Vault

EVERY = frozenset(MemoryStatus)


def listing(
    connection: Connection, vault: Vault, tenant: str, subject: str, *, every: bool = False, agent: bool = False
) -> list[dict[str, Any]]:
    """All memories of a person.

    Args:
        connection: to the truth.
        vault: for the keys.
        tenant: natural id.
        subject: natural id.
        every: every status instead of active ones; never for an agent.
        agent: True where an agent asks, who gets nothing of a person that paused.
    """
    life = find(connection, vault, tenant, subject)
    if life is None or (agent and paused(life)):
        return []
    return _shown(connection, life, EVERY if every and not agent else ACTIVE)


def one(
    connection: Connection, vault: Vault, tenant: str, subject: str | None, memory: bytes, *, agent: bool = False
) -> dict[str, Any] | None:
    """One memory by id, in any status for the person, active for an agent; None where it is not theirs to see."""
    lookup = vault.lookup(tenant)
    if lookup is None:
        return None
    owner = connection.execute(SQL.whose, {"id": memory, "tenant": lookup.tenant_ref}).fetchone()
    if owner is None or (subject is not None and owner[0] != lookup.subject(subject)):
        return None
    row = load_by_ref(connection, [owner[0]]).get(owner[0])
    if row is None or row.handle is None:
        return None
    life = Life(row, vault.data_keys([row.handle])[row.handle])
    if agent and paused(life):
        return None
    found = _shown(connection, life, ACTIVE if agent else EVERY, [memory])
    return found[0] if found else None


def paused(life: Life) -> bool:
    """True where consent lets nothing be read (P7)."""
    return Consent.PAUSED in (life.row.consent, life.row.tenant_consent)


def _shown(
    connection: Connection, life: Life, statuses: Collection[MemoryStatus], ids: list[bytes] | None = None
) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    records = load_memories(connection, life.keys, life.row.epoch, statuses, ids)
    return [record.as_json() for record in records if not _lapsed(record, now)]


def _lapsed(record: MemoryRecord, now: datetime) -> bool:
    """What has expired is out at once, though the resolver's tick has not written it yet (C12)."""
    return record.status is MemoryStatus.ACTIVE and record.expires_at is not None and record.expires_at <= now
