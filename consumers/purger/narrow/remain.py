"""What stays of a slot after some of its evidence is gone: settled anew, spelt from what is left (C14, D11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from consumers.drafts import load_draft
from consumers.purger.narrow.items import SQL
from consumers.resolver.evidence import Ending, Evidence, Kind, graded
from consumers.resolver.settle import Rules, Standing, Told, settle
from schemas.words import MemoryStatus, MemoryType, SourceType
from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.sql import load

_RESOLVER = load("consumers.resolver", "queries.sql")


class Changed(NamedTuple):
    """A memory's new version, for the log."""

    memory: bytes
    version: int
    status: MemoryStatus
    handle: bytes
    epoch: int


@dataclass(slots=True)
class Row:
    """A memory as it is stored, with the evidence that is left."""

    id: bytes
    digest: bytes
    type: MemoryType
    source_type: str
    confidence: float
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    status: str
    version: int
    count: int
    row: int
    supersedes: bytes | None
    body: bytes
    evidence: list[Evidence]


def resettle(conn: Connection, keys: SubjectKeys, slots: Sequence[bytes], epoch: int, rules: Rules) -> list[Changed]:
    """Settle slots from their remaining evidence, write what that changes, and say what it was."""
    if not slots:
        return []
    places = ([keys.handle] * len(slots), list(slots))
    rows = rows_in(conn, places)
    endings = endings_in(conn, places)
    now = clock(conn)
    changed: list[Changed] = []
    for slot in slots:
        found = rows.get(slot, [])
        told = [Told(row.digest, row.type, row.evidence) for row in found]
        standings = settle(told, endings.get(slot, ()), rules, now)
        for row, standing in _demoted_first(found, standings):
            over = _link(row, found, standing)
            changed += _write(conn, keys, row, standing, over, epoch, rules)
    return changed


def _link(row: Row, slot: Sequence[Row], standing: Standing) -> bytes | None:
    """A narrowed memory supersedes one of another slot, of which settling this one knows nothing."""
    if standing.supersedes is not None:
        return slot[standing.supersedes].id
    return row.supersedes if row.supersedes not in {other.id for other in slot} else None


def _demoted_first(rows: Sequence[Row], standings: Sequence[Standing]) -> list[tuple[Row, Standing]]:
    """No two active memories of a slot, not even between two statements."""
    pairs = list(zip(rows, standings, strict=True))
    return sorted(pairs, key=lambda pair: pair[1].status is MemoryStatus.ACTIVE)


def _write(
    conn: Connection,
    keys: SubjectKeys,
    row: Row,
    standing: Standing,
    over: bytes | None,
    epoch: int,
    rules: Rules,
) -> list[Changed]:
    said = [item for item in row.evidence if item.kind.asserts]
    body = _spelt(conn, keys, row, said)
    held = standing.intervals[-1] if standing.intervals else (row.valid_from, None)
    strongest = max((item.source_type for item in said), key=rules.authority.__getitem__, default=row.source_type)
    status = standing.status or MemoryStatus.REVOKED
    moved = status.value != row.status or body != row.body
    values: dict[str, Any] = {
        "id": row.id,
        "status": status.value,
        "version": row.version + moved,
        "supersedes": over,
        "source_type": str(strongest),
        "confidence": max((item.confidence for item in said), default=row.confidence),
        "count": len(said),
        "row": max((item.order[0] for item in said), default=row.row),
        "valid_from": held[0],
        "valid_to": held[1],
        "expires_at": standing.expires_at,
        "body": body,
    }
    conn.execute(SQL.update_memory, values)
    if not moved:
        return []
    conn.execute(SQL.insert_version, (row.id, row.version + 1, keys.handle, epoch, status.value, "source_erased"))
    return [Changed(row.id, row.version + 1, status, keys.handle, epoch)]


def _spelt(conn: Connection, keys: SubjectKeys, row: Row, said: Sequence[Evidence]) -> bytes:
    """Keep a body whose quote a remaining source has; else spell it as the first remaining source did."""
    document = orjson.loads(keys.open(row.id, row.body))
    quotes: dict[bytes, str] = {}
    for candidate, body in conn.execute(SQL.quotes, (row.id,)).fetchall():
        quote = orjson.loads(keys.open(candidate, body)).get("quote")
        if quote is not None:
            quotes[candidate] = quote
    if not said or document.get("quote") in quotes.values():
        return row.body
    first = min(said).candidate
    drafts: dict[bytes, bytes] = dict(conn.execute(SQL.drafts, ([first],)).fetchall())
    if first in drafts:
        document["value"] = load_draft(keys.open(first, drafts[first])).content.value
    document["quote"] = quotes.get(first, "")
    return keys.seal(row.id, orjson.dumps(document))


def clock(conn: Connection) -> datetime:
    """The database's time."""
    moment: datetime = conn.execute(_RESOLVER.clock).fetchone()[0]  # type: ignore[index]
    return moment


def rows_in(conn: Connection, places: tuple[list[bytes], list[bytes]]) -> dict[bytes, list[Row]]:
    """Read the memories of slots, by slot, with the evidence that counts; ``places`` are handles and slots."""
    found: defaultdict[bytes, list[Row]] = defaultdict(list)
    by_id: dict[bytes, Row] = {}
    for row in conn.execute(_RESOLVER.memories, places).fetchall():
        one = Row(
            id=row[0],
            digest=row[3],
            type=MemoryType(row[4]),
            source_type=row[6],
            confidence=row[9],
            valid_from=row[12],
            valid_to=row[13],
            expires_at=row[14],
            status=row[16],
            version=row[17],
            count=row[18],
            row=row[19],
            supersedes=row[20],
            body=row[22],
            evidence=[],
        )
        by_id[one.id] = one
        found[row[2]].append(one)
    for memory, number, step, replaces, candidate, kind, source, confidence, *rest in conn.execute(
        _RESOLVER.evidence, (list(by_id),)
    ).fetchall():
        order = (number, step, replaces, candidate)
        evidence = Evidence(order, Kind(kind), SourceType(source), graded(confidence), *rest)
        by_id[memory].evidence.append(evidence)
    return found


def endings_in(conn: Connection, places: tuple[list[bytes], list[bytes]]) -> dict[bytes, list[Ending]]:
    """Read the endings of slots, by slot."""
    found: defaultdict[bytes, list[Ending]] = defaultdict(list)
    for _, slot, row, step, candidate, digests, at, conversation in conn.execute(_RESOLVER.endings, places).fetchall():
        ended = frozenset(digests) if digests else None
        found[slot].append(Ending((row, step, False, candidate), ended, at, conversation))
    return found
