"""An edit takes a source away, and what came from that alone: its owners are told by an erasure that nobody asked for.

It goes the way of every other one, from plan to receipt: its selector names what departed, of which nothing is left
but artefacts.
"""

from __future__ import annotations

from datetime import datetime

import orjson

from consumers.purger.decide import DEADLINE
from consumers.purger.owners.look import SQL
from schemas.events import Deletion, Selector
from schemas.words import SelectorKind
from stores.database import Connection
from stores.erasures import selector_digest
from stores.subjects import Pair, SubjectRow, load_by_handle, natural_id
from stores.vault import Vault

AT_ONCE = 100


def take_up(tx: Connection, vault: Vault) -> int:
    """Write an erasure for each departed source that asks for one, in the caller's transaction; return how many.

    Of a person who was erased since, that erasure has ordered. One whose key is missing waits.
    """
    rows = tx.execute(SQL.asking, (AT_ONCE,)).fetchall()
    alive = load_by_handle(tx, {row[1] for row in rows})
    there = vault.key_exists(alive)
    found = [row for row in rows if row[1] in there]
    for source, handle, body, at in found:
        _open(tx, vault, alive[handle], natural_id(vault, alive[handle], body), source, at)
    if rows:
        tx.execute(SQL.asks_no_more, ([row[0] for row in rows if row[1] not in alive],))
    return len(found)


def _open(tx: Connection, vault: Vault, row: SubjectRow, who: Pair, source: bytes, at: datetime) -> None:
    """Write one. Its id follows from source and time, so that a repetition after a crash is the same request."""
    tenant, subject = who
    lookup = vault.lookup(tenant)
    if lookup is None:
        return
    selector = Selector(kind=SelectorKind.MEMORY, subject=subject, id=source.hex())
    event = Deletion(
        request_id=f"edit.{source.hex()}.{at:%Y%m%d%H%M%S%f}",
        tenant=tenant,
        requested_by="obelus",
        selector=selector,
    )
    erasure, digest = lookup.holder(event.request_id), selector_digest(lookup, selector)
    body = event.model_dump(mode="json", exclude_none=True) | {"accepted_ms": int(at.timestamp() * 1000)}
    # The vault first, as with everything that was asked for: a restore needs it.
    vault.record_request(erasure, row.tenant, digest, orjson.dumps(body))
    values = {
        "id": erasure,
        "tenant": row.tenant,
        "subject": row.ref,
        "lock": row.lock,
        "kind": SelectorKind.MEMORY,
        "selector": digest,
        "at": at,
        "deadline": at + DEADLINE,
        "source": source,
    }
    tx.execute(SQL.open_for_source, values)
