"""What outside owners have made: their names are opened with the tenant's key, page by page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from stores.database import Connection, translate
from stores.sealing import Lookup
from stores.sql import load

_SQL = load("stores", "artefacts.sql")

PAGE = 500


@dataclass(frozen=True, slots=True)
class Page:
    """Artefacts of one order.

    Attributes:
        order: number of the order.
        salt: with which `digest_of` gives the digest that the order showed.
        count: of the whole order.
        artefacts: each with ``artefact`` and ``kind`` as they were registered.
        next: where the next page begins; None on the last.
    """

    order: int
    action: str
    salt: bytes
    count: int
    digest: str
    state: str
    deadline: datetime
    artefacts: list[dict[str, str]]
    next: str | None


def digest_of(salt: bytes, names: Iterable[str]) -> str:
    """SHA-256 over salt and sorted names, each before a line feed; without the salt no name can be guessed from it."""
    text = "".join(f"{name}\n" for name in sorted(names))
    return hashlib.sha256(salt + text.encode()).hexdigest()


def page_of(erasure: bytes, owner: str, order: int) -> str:
    """Where an order's artefacts are read; the page that follows is named in each answer."""
    return f"/v1/erasures/{erasure.hex()}/artefacts?owner={owner.replace('+', '%2B')}&order={order}"


def opened(lookup: Lookup, artefact: bytes, body: bytes) -> dict[str, str]:
    """Open what an owner called it.

    Raises:
        KeyMissing: it was sealed under another tenant's key.
    """
    found: dict[str, Any] = orjson.loads(lookup.open(artefact, body))
    return {"artefact": found["artefact"], "kind": found["kind"]}


def of_person(conn: Connection, lookup: Lookup, ref: bytes, handle: bytes | None) -> list[dict[str, Any]]:
    """List what was made from a person's memories and messages, oldest first, in the caller's transaction.

    Args:
        conn: to the truth.
        lookup: the tenant's, which opens the names.
        ref: of the person; what was ordered from its owner and is not done is listed after an erasure too.
        handle: of their present life, None where there is none.

    Returns:
        For each ``id``, ``owner``, ``artefact``, ``kind``, ``at`` (RFC 3339), ``parents`` that are this person's, each
        ``{"memory": id}`` or ``{"turn": id}``, and ``ordered``: what its owner was told and how that stands, or None.

    Raises:
        KeyMissing: a name does not open.
    """
    rows = conn.execute(_SQL.of_person, {"ref": ref, "handle": handle}).fetchall()
    return [
        {
            "id": name.hex(),
            "owner": owner,
            **opened(lookup, name, body),
            "at": at.isoformat().replace("+00:00", "Z"),
            "parents": parents,
            "ordered": ordered,
        }
        for name, body, owner, at, parents, ordered in rows
    ]


def page(
    conn: Connection, lookup: Lookup, erasure: bytes, owner: str, *, order: int | None = None, after: bytes = b""
) -> Page | None:
    """Read a page of an order, by default of the owner's newest one; None where there is no such order."""
    with translate():
        row = conn.execute(_SQL.newest_order, {"erasure": erasure, "owner": owner, "no": order}).fetchone()
        if row is None:
            return None
        rows = conn.execute(_SQL.page, {"no": row[0], "after": after, "limit": PAGE + 1}).fetchall()
    shown = rows[:PAGE]
    following = shown[-1][0].hex() if len(rows) > PAGE else None
    number, action, salt, count, digest, state, deadline = row
    names = [opened(lookup, name, body) for name, body in shown]
    return Page(number, action, salt, count, digest, state, deadline, names, following)
