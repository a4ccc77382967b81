"""What stays of a slot after some of its evidence is gone: settled anew, spelt from what is left (C14, D11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from consumers.drafts import load_draft
from consumers.purger.narrow.items import SQL
from consumers.settling.memory import Memory
from consumers.settling.place import place
from consumers.settling.read import by_slot, clock, endings_of, memories_of
from consumers.settling.settle import Rules, Told, settle
from schemas.words import MemoryStatus
from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.subjects import load_by_handle


class Changed(NamedTuple):
    """A memory's new version, for the log."""

    memory: bytes
    version: int
    status: MemoryStatus
    handle: bytes
    epoch: int


def resettle(conn: Connection, keys: SubjectKeys, slots: Sequence[bytes], epoch: int, rules: Rules) -> list[Changed]:
    """Settle slots from their remaining evidence, write what that changes, and say what it was."""
    places = [(keys.handle, slot) for slot in slots]
    if not places:
        return []
    found = by_slot(memories_of(conn, places, load_by_handle(conn, [keys.handle])))
    endings, now = endings_of(conn, places), clock(conn)
    changed: list[Changed] = []
    for at in places:
        slot = found.get(at, [])
        told = [Told(memory.digest, memory.type, memory.evidence) for memory in slot]
        before = [memory.status for memory in slot]
        standings = settle(told, endings.get(at, ()), rules, now)
        for memory, standing in zip(slot, standings, strict=True):
            place(memory, standing, slot, rules)
        # Whoever leaves goes first: no two active memories of a slot, not even between two statements.
        pairs = sorted(zip(slot, before, strict=True), key=lambda pair: pair[0].status is MemoryStatus.ACTIVE)
        for memory, stood in pairs:
            changed += _write(conn, keys, memory, memory.status is not stood, epoch)
    return changed


def _write(conn: Connection, keys: SubjectKeys, memory: Memory, moved: bool, epoch: int) -> list[Changed]:
    """Write a memory as it is placed now; a new version where it stands elsewhere, or is spelt anew."""
    body = _spelt(conn, keys, memory)
    new = moved or body != memory.body
    status, version = MemoryStatus(memory.status or MemoryStatus.REVOKED), memory.version + new
    conn.execute(
        SQL.update_memory,
        {
            "id": memory.id,
            "status": status.value,
            "version": version,
            "supersedes": memory.supersedes,
            "source_type": memory.source_type.value,
            "confidence": memory.confidence,
            "count": sum(item.kind.asserts for item in memory.evidence),
            "row": memory.row,
            "valid_from": memory.valid_from,
            "valid_to": memory.valid_to,
            "expires_at": memory.expires_at,
            "body": body,
        },
    )
    if not new:
        return []
    conn.execute(SQL.insert_version, (memory.id, version, keys.handle, epoch, status.value, "source_erased"))
    return [Changed(memory.id, version, status, keys.handle, epoch)]


def _spelt(conn: Connection, keys: SubjectKeys, memory: Memory) -> bytes:
    """Keep a body whose quote a remaining source has; else spell it as the first remaining source did."""
    said = [item for item in memory.evidence if item.kind.asserts]
    document = orjson.loads(keys.open(memory.id, memory.body))
    quotes: dict[bytes, str] = {}
    for candidate, body in conn.execute(SQL.quotes, (memory.id,)).fetchall():
        quote = orjson.loads(keys.open(candidate, body)).get("quote")
        if quote is not None:
            quotes[candidate] = quote
    if not said or document.get("quote") in quotes.values():
        return memory.body
    first = min(said).candidate
    drafts: dict[bytes, bytes] = dict(conn.execute(SQL.drafts, ([first],)).fetchall())
    if first in drafts:
        document["value"] = load_draft(keys.open(first, drafts[first])).content.value
    document["quote"] = quotes.get(first, "")
    return keys.seal(memory.id, orjson.dumps(document))
