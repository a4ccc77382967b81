"""Writes what was decided: one statement a table, bodies sealed on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from consumers.resolver.model import Result, StoredEnding, Support, Version
from consumers.settling.memory import Memory
from consumers.settling.settle import Interval
from schemas.errors import TransientError
from schemas.records import Content
from schemas.words import MemoryStatus
from stores.database import Connection, columns
from stores.sealing import SubjectKeys
from stores.sql import load

_SQL = load("consumers.resolver", "queries.sql")

_MEMORY = (
    "bytea bytea bytea bytea int4 bytea bytea int4 text text text text text text bytea[] float4 float4 bool int4 int8"
    " timestamptz timestamptz timestamptz timestamptz bytea bytea"
).split()
_VERSION = "bytea int4 bytea int4 text text text bytea int2 int4 int8".split()
_SOURCE = (
    "bytea bytea bytea bytea bytea bytea timestamptz bytea int8 int8 text text bool float4 timestamptz timestamptz"
    " timestamptz"
).split()
_NOWHERE = (None, None, None)
_LINEAGE = "text bytea text bytea bytea".split()


def write(tx: Connection, result: Result) -> None:
    """Write a batch in the caller's transaction, whose locks make it safe.

    Raises:
        TransientError: a memory is no longer as it was read (C9).
        psycopg.errors.UniqueViolation: another worker began a memory of the same slot meanwhile.
    """
    keys = _Keys(result)
    changed = [memory for memory in result.memories.values() if memory.stored is not None]
    # One statement checks the slot's one active memory row by row: whoever leaves must be gone first.
    _update(tx, [memory for memory in changed if memory.status is not MemoryStatus.ACTIVE], keys)
    _update(tx, [memory for memory in changed if memory.status is MemoryStatus.ACTIVE], keys)
    begun = (_begun(memory, keys) for memory in result.memories.values() if memory.stored is None)
    _copy(tx, _SQL.copy_memories, _MEMORY, begun)
    _copy(tx, _SQL.copy_versions, _VERSION, map(_version, result.versions))
    _copy(tx, _SQL.copy_sources, _SOURCE, map(_source, result.supports))
    _copy(tx, _SQL.copy_lineage, _LINEAGE, map(_lineage, result.supports))
    if result.endings:
        tx.execute(_SQL.insert_endings, (orjson.dumps(list(map(_ending, result.endings))).decode(),))
    _execute(tx, _SQL.void_sources, sorted(result.voided))
    _execute(tx, _SQL.delete_endings, [(candidate,) for candidate in sorted(result.unended)])
    _execute(tx, _SQL.note_controls, result.controls)
    _execute(tx, _SQL.insert_refusals, [(name, handle, *position) for name, handle, position in result.refusals])
    handles = {memory.subject.handle for memory in result.memories.values()}
    _execute(tx, _SQL.raise_generations, [(handle,) for handle in handles])


class _Keys:
    """The keys of the people in a result; none outlives the batch."""

    def __init__(self, result: Result) -> None:
        self._keys = {support.decided.keys.handle: support.decided.keys for support in result.supports}
        self._keys |= {version.cause.keys.handle: version.cause.keys for version in result.versions}

    def seal(self, memory: Memory) -> bytes:
        """Return the sealed body of a memory: as it was, unless it is new, spelt anew or held more than once."""
        keys = self._keys.get(memory.subject.handle or b"")
        if keys is None or (memory.content is None and not memory.intervals):
            return memory.body
        document = _opened(keys, memory) if memory.content is None else _document(memory.content)
        if memory.intervals:
            document["intervals"] = [_spelt(interval) for interval in memory.intervals]
        return keys.seal(memory.id, orjson.dumps(document))


def _opened(keys: SubjectKeys, memory: Memory) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(keys.open(memory.id, memory.body))
    return document


def _document(content: Content) -> dict[str, Any]:
    return {
        "namespace": content.namespace,
        "key": content.key,
        "value": content.value,
        "quote": content.quote,
        "conditions": content.conditions,
        "scope": content.scope,
    }


def _spelt(interval: Interval) -> list[str | None]:
    start, stop = interval
    return [start.isoformat(), stop.isoformat() if stop else None]


def _begun(memory: Memory, keys: _Keys) -> tuple[Any, ...]:
    subject = memory.subject
    return (
        memory.id,
        subject.ref,
        subject.tenant,
        subject.handle,
        subject.epoch,
        memory.identity,
        memory.digest,
        memory.version,
        memory.status,
        memory.type,
        memory.polarity,
        memory.source_type,
        memory.sensitivity,
        memory.visibility,
        memory.namespaces,
        memory.confidence,
        memory.importance,
        memory.explicit,
        memory.count,
        memory.row,
        memory.valid_from,
        memory.valid_to,
        memory.expires_at,
        memory.review_at,
        memory.supersedes,
        keys.seal(memory),
    )


def _update(tx: Connection, memories: Sequence[Memory], keys: _Keys) -> None:
    if not memories:
        return
    rows = [_changed(memory, keys) for memory in memories]
    if tx.execute(_SQL.update_memories, columns(rows, len(rows[0]))).rowcount != len(rows):
        raise TransientError("a memory changed since it was read; the batch is done anew")


def _changed(memory: Memory, keys: _Keys) -> tuple[Any, ...]:
    assert memory.stored is not None  # noqa: S101 - only such are updated
    return (
        memory.id,
        *memory.stored,
        str(memory.status),
        memory.version,
        str(memory.source_type),
        str(memory.sensitivity),
        memory.confidence,
        memory.importance,
        memory.explicit,
        memory.count,
        memory.row,
        memory.valid_from,
        memory.valid_to,
        memory.expires_at,
        memory.supersedes,
        keys.seal(memory),
    )


def _version(row: Version) -> tuple[Any, ...]:
    cause = row.cause
    return (
        row.memory,
        row.version,
        cause.subject.handle,
        cause.subject.epoch,
        row.status,
        cause.actor,
        row.rule,
        cause.candidate,
        *(cause.position or _NOWHERE),
    )


def _source(row: Support) -> tuple[Any, ...]:
    item, evidence = row.decided, row.evidence
    origin = item.origin
    names = {**origin.names, "quote": item.draft.content.quote} if origin.names else {}
    number, step, replaces, candidate = evidence.order
    return (
        row.memory,
        candidate,
        origin.turn,
        item.keys.handle,
        item.author,
        evidence.conversation,
        evidence.at,
        item.keys.seal(candidate, orjson.dumps(names)),
        number,
        step,
        evidence.kind,
        evidence.source_type,
        replaces,
        evidence.confidence,
        evidence.holds_from,
        evidence.expires_at,
        evidence.decided_at,
    )


def _lineage(row: Support) -> tuple[Any, ...]:
    item = row.decided
    return "memory", row.memory, "decision", item.candidate, item.keys.handle


def _ending(row: StoredEnding) -> dict[str, Any]:
    ending, item = row.ending, row.decided
    number, step, _, candidate = ending.order
    return {
        "candidate": candidate.hex(),
        "identity": row.identity.hex(),
        "handle": item.keys.handle.hex(),
        "turn": item.origin.turn.hex() if item.origin.turn else None,
        "conversation": ending.conversation.hex() if ending.conversation else None,
        "digests": sorted(digest.hex() for digest in ending.digests) if ending.digests else None,
        "row": number,
        "step": step,
        "at": ending.at.isoformat(),
    }


def _copy(tx: Connection, statement: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    packed = list(rows)
    if not packed:
        return
    with tx.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in packed:
            copy.write_row(row)


def _execute(tx: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        tx.execute(statement, columns(rows, len(rows[0])))
