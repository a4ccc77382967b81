"""PostgreSQL's word on each recall: who is asked about, what of the index's proposals holds, and the trace."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from recall.model import Drop, Known
from schemas.words import Consent, MemoryStatus, MemoryType, Polarity, Sensitivity, SourceType
from stores.copies import Recorded
from stores.database import Connection
from stores.memory_records import content_of
from stores.sealing import ID_BYTES, SubjectKeys, lock_of
from stores.sql import load
from stores.vector_points import Hit

SQL = load("recall", "queries.sql")


@dataclass(frozen=True, slots=True)
class Person:
    """The subject of a recall as its row stands: its life now, and whether it may be read.

    ``generation`` rises with everything that may change an answer; ``now`` is the database's clock.
    """

    ref: bytes
    handle: bytes
    epoch: int
    readable: bool
    generation: int
    now: datetime


@dataclass(frozen=True, slots=True)
class Truth:
    """What PostgreSQL says of the proposals: opened memories, conflict sets, and what it refused."""

    known: tuple[Known, ...]
    conflicted: tuple[tuple[Known, ...], ...]
    drops: tuple[Drop, ...]


def person(connection: Connection, ref: bytes, conversation: bytes | None = None) -> Person | None:
    """Read a subject's row; None where there is nobody of that ref or it was blocked and has not come back."""
    row = connection.execute(SQL.subject, {"ref": ref, "conversation": conversation}).fetchone()
    if row is None or row[0] is None:
        return None
    handle, epoch, generation, now, *consents = row
    return Person(ref, handle, epoch, Consent.PAUSED not in consents, generation, now)


def unmoved(connection: Connection, who: Person) -> bool:
    """True while nothing has happened to a subject since its row was read: no erasure and no change."""
    values = {"ref": who.ref, "handle": who.handle, "epoch": who.epoch, "generation": who.generation}
    return connection.execute(SQL.unmoved, values).fetchone() is not None


def verify(
    connection: Connection,
    who: Person,
    keys: SubjectKeys,
    hits: Sequence[Hit],
    clearance: Iterable[str],
) -> Truth:
    """Ask PostgreSQL about every hit in one query, and open what it vouches for."""
    similarity = {hit.memory: hit.similarity for hit in hits}
    rows = connection.execute(
        SQL.truth,
        {
            "ids": list(similarity),
            "ref": who.ref,
            "handle": who.handle,
            "epoch": who.epoch,
            "clearance": list(clearance),
        },
    ).fetchall()
    known: list[Known] = []
    drops: list[Drop] = []
    sets: defaultdict[bytes, list[Known]] = defaultdict(list)
    for row in rows:
        memory_id, status, identity, refused = row[0], row[12], row[13], row[14]
        if refused is not None:
            drops.append(Drop(memory_id.hex(), refused))
        elif status == MemoryStatus.CONFLICTED:
            sets[identity].append(opened(keys, row[:12], row[15], 0.0))
        else:
            known.append(opened(keys, row[:12], row[15], similarity[memory_id]))
    seen = {row[0] for row in rows}
    drops += [Drop(memory.hex(), "unknown") for memory in similarity if memory not in seen]
    return Truth(tuple(known), tuple(tuple(group) for group in sets.values()), tuple(drops))


def opened(keys: SubjectKeys, columns: Sequence[Any], body: bytes, similarity: float) -> Known:
    """Open a row of ``memories``: its first twelve selected columns and its sealed body."""
    memory, version, kind, polarity, source, sensitivity, confidence, importance, explicit = columns[:9]
    valid_from, valid_to, expires_at = columns[9:]
    document = orjson.loads(keys.open(memory, body))
    return Known(
        memory.hex(),
        version,
        MemoryType(kind),
        Polarity(polarity),
        SourceType(source),
        Sensitivity(sensitivity),
        confidence,
        importance,
        explicit,
        valid_from,
        valid_to,
        expires_at,
        content_of(document),
        intervals_of(document),
        similarity,
    )


def intervals_of(document: Mapping[str, Any]) -> tuple[tuple[datetime | None, datetime | None], ...]:
    """The intervals in which a fact holds (C13)."""
    return tuple((_time(start), _time(stop)) for start, stop in document.get("intervals") or ())


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


class Left(NamedTuple):
    """What a recall has left behind.

    Attributes:
        trace: id of the trace, None where the subject was blocked or paused meanwhile.
        sources: rows (memory, candidate, at, body) of what is shown.
        recorded: the answer that may be kept now, its parents are in the lineage.
    """

    trace: str | None
    sources: list[tuple[Any, ...]]
    recorded: Recorded


def write_trace(
    connection: Connection,
    who: Person,
    keys: SubjectKeys,
    *,
    ids: Sequence[bytes],
    policy: str,
    index: str,
    degraded: bool,
    body: bytes,
    entry: bytes | None = None,
    until: datetime | None = None,
) -> Left:
    """Store the trace under the subject's lock and fetch the sources of what is shown, in one round trip.

    Where the answer is to be kept its edges are stored too: ``entry`` is the id it is kept under, ``until`` its end.
    """
    trace, values = _trace(who, keys, ids, policy, index, degraded, body)
    rows = connection.execute(SQL.leave, values | {"entry": entry, "until": until}).fetchall()
    sources = [row[1:] for row in rows if row[1] is not None]
    if not rows[0][0]:
        return Left(None, sources, Recorded())
    return Left(trace.hex(), sources, Recorded(frozenset({entry} if entry else ())))


def write_trace_again(
    connection: Connection,
    who: Person,
    keys: SubjectKeys,
    *,
    ids: Sequence[bytes],
    policy: str,
    index: str,
    body: bytes,
) -> str | None:
    """Store the trace of an answer that was kept, which has its sources; as `write_trace` otherwise."""
    trace, values = _trace(who, keys, ids, policy, index, False, body)
    row = connection.execute(SQL.leave_again, values).fetchone()
    return trace.hex() if row and row[0] else None


def _trace(
    who: Person, keys: SubjectKeys, ids: Sequence[bytes], policy: str, index: str, degraded: bool, body: bytes
) -> tuple[bytes, dict[str, Any]]:
    trace = os.urandom(ID_BYTES)
    return trace, {
        "id": trace,
        "lock": lock_of(who.ref),
        "ref": who.ref,
        "handle": who.handle,
        "epoch": who.epoch,
        "policy": policy,
        "index": index,
        "degraded": degraded,
        "memories": list(ids),
        "body": keys.seal(trace, body),
    }
