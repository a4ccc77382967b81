"""Reads the memories of slots with everything that was said of them; bodies stay sealed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from consumers.settling.evidence import Ending, Evidence, Kind, graded
from consumers.settling.memory import Memory, Slot
from schemas.words import MemoryStatus, MemoryType, Polarity, Sensitivity, SourceType, Visibility
from stores.database import Connection, columns, value
from stores.sql import load
from stores.subjects import SubjectRow

_SQL = load("consumers.settling", "queries.sql")
_KINDS = {kind.value: kind for kind in Kind}
_SOURCES = {source.value: source for source in SourceType}


def clock(tx: Connection) -> datetime:
    """Return the database's time."""
    moment: datetime = value(tx, _SQL.clock)
    return moment


def memories_of(tx: Connection, slots: Sequence[Slot], subjects: Mapping[bytes, SubjectRow]) -> list[Memory]:
    """Read all memories of the given slots with their evidence."""
    if not slots:
        return []
    rows = tx.execute(_SQL.memories, columns(slots, 2)).fetchall()
    if not rows:
        return []
    evidence = _evidence(tx, [row[0] for row in rows])
    return [_memory(row, subjects[row[1]], evidence.get(row[0], [])) for row in rows]


def by_slot(memories: Iterable[Memory]) -> Mapping[Slot, list[Memory]]:
    """Sort memories by the slot that they fill."""
    found: defaultdict[Slot, list[Memory]] = defaultdict(list)
    for memory in memories:
        found[memory.subject.handle or b"", memory.identity].append(memory)
    return found


def _memory(row: tuple[Any, ...], subject: SubjectRow, evidence: list[Evidence]) -> Memory:
    return Memory(
        id=row[0],
        subject=subject,
        identity=row[2],
        digest=row[3],
        type=MemoryType(row[4]),
        polarity=Polarity(row[5]),
        source_type=_SOURCES[row[6]],
        sensitivity=Sensitivity(row[7]),
        visibility=Visibility(row[8]),
        confidence=graded(row[9]),
        importance=graded(row[10]),
        explicit=row[11],
        valid_from=row[12],
        valid_to=row[13],
        expires_at=row[14],
        review_at=row[15],
        status=MemoryStatus(row[16]),
        version=row[17],
        count=row[18],
        row=row[19],
        supersedes=row[20],
        namespaces=row[21],
        body=row[22],
        evidence=evidence,
        stored=(row[17], row[18]),
    )


def _evidence(tx: Connection, memories: Sequence[bytes]) -> Mapping[bytes, list[Evidence]]:
    found: defaultdict[bytes, list[Evidence]] = defaultdict(list)
    for memory, row, step, replaces, candidate, kind, source, confidence, *rest in tx.execute(
        _SQL.evidence, (memories,)
    ).fetchall():
        order = (row, step, replaces, candidate)
        found[memory].append(Evidence(order, _KINDS[kind], _SOURCES[source], graded(confidence), *rest))
    return found


def endings_of(tx: Connection, slots: Iterable[Slot]) -> Mapping[Slot, list[Ending]]:
    """Read the endings of the given slots."""
    found: defaultdict[Slot, list[Ending]] = defaultdict(list)
    for handle, slot, row, step, candidate, digests, at, conversation in tx.execute(
        _SQL.endings, columns(list(slots), 2)
    ).fetchall():
        ending = Ending((row, step, False, candidate), frozenset(digests) if digests else None, at, conversation)
        found[handle, slot].append(ending)
    return found
