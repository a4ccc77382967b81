"""What may be asked of erasures and receipts, by whoever shows them; only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from policy.receipts import subject_tag
from schemas.events import Deletion, Selector
from schemas.words import ErasureState
from stores.database import Connection, translate
from stores.sealing import Lookup
from stores.sql import load
from stores.vault import Vault

_SQL = load("stores", "erasures.sql")


@dataclass(frozen=True, slots=True)
class Status:
    """An erasure as it stands; ids are keyed hashes, counts are by entry of the data map."""

    id: bytes
    tenant: bytes
    kind: str
    state: ErasureState
    selector: bytes
    plan: Mapping[str, int] | None
    plan_digest: str | None
    requested_at: datetime
    deadline: datetime
    not_before: datetime | None
    blocked_at: datetime | None
    verified_at: datetime | None
    finished_at: datetime | None
    tag: bytes | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A receipt as it is kept: envelope and evidence byte for byte, and its place in the chain."""

    digest: bytes
    sequence: int
    tenant: bytes
    envelope: bytes
    evidence: bytes


def erasure_id(vault: Vault, tenant: str, name: str) -> bytes | None:
    """Find the id of an erasure by itself (32 hex digits) or by its caller's request id.

    Returns:
        None where the tenant has never been heard of; the erasure itself may still not exist.
    """
    lookup = vault.lookup(tenant)
    by_request = lookup.holder(name) if lookup else None
    if by_request is not None and vault.request(by_request) is not None:
        return by_request
    try:
        given = bytes.fromhex(name)
    except ValueError:
        return by_request
    return given if len(given) == 16 else by_request


def status(conn: Connection, erasure: bytes) -> Status | None:
    """Read one erasure."""
    with translate():
        row = conn.execute(_SQL.status, (erasure,)).fetchone()
    return _status(row) if row else None


def listing(conn: Connection, *, only_open: bool = False) -> list[Status]:
    """Read all erasures, oldest first; with ``only_open`` those not yet verified."""
    with translate():
        rows = conn.execute(_SQL.listing, {"only_open": only_open}).fetchall()
    return [_status(row) for row in rows]


def waiting(conn: Connection, erasures: list[bytes]) -> dict[bytes, list[str]]:
    """What each of them waits for: ``entry: reason`` of its open lines."""
    found: dict[bytes, list[str]] = {erasure: [] for erasure in erasures}
    with translate():
        for erasure, entry, reason in conn.execute(_SQL.waiting, (erasures,)).fetchall():
            found[erasure].append(f"{entry}: {reason}")
    return found


def newest_receipt(conn: Connection, erasure: bytes) -> Kept | None:
    """Read an erasure's receipt; a newer one supersedes those before."""
    with translate():
        row = conn.execute(_SQL.newest_receipt, (erasure,)).fetchone()
    return Kept(*row) if row else None


def chain(conn: Connection, kept: Kept) -> Iterator[tuple[int, bytes]]:
    """Give every envelope of the tenant up to this one, in order."""
    with translate():
        yield from conn.execute(_SQL.chain, (kept.tenant, kept.sequence)).fetchall()


def selector_digest(lookup: Lookup, selector: Selector) -> bytes:
    """Tell one selector from another without keeping it."""
    return lookup.holder("selector", selector.model_dump_json(exclude_none=True))


def conflicts(lookup: Lookup, found: Status, event: Deletion) -> bool:
    """Whether the erasure of this request id is another request's, so that this one was refused."""
    return event.selector is not None and found.selector != selector_digest(lookup, event.selector)


def counts_nonce(found: Status, event: Deletion) -> bool:
    """Whether receipts name the nonce of this publication: an earlier one of the same request may have drawn it."""
    if event.nonce is None or found.tag is None:
        return False
    subject = event.selector.subject if event.selector else None
    return found.tag == subject_tag(event.nonce, event.tenant, subject or "", found.id.hex())


def request_id(vault: Vault, erasure: bytes) -> str | None:
    """Open the caller's request id, which only the vault has."""
    request = vault.request(erasure)
    return str(orjson.loads(request.body)["request_id"]) if request else None


def _status(row: tuple[Any, ...]) -> Status:
    values = list(row)
    values[3] = ErasureState(values[3])
    return Status(*values)
