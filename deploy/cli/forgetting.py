"""What `obelus forget` does behind its options."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson

from deploy.cli.failures import DONE, NO
from deploy.cli.output import note
from policy.receipts import stamp
from schemas import datamap
from schemas.events import Deletion, Selector
from schemas.settings import Settings
from schemas.topics import DELETIONS
from schemas.words import ErasureState
from stores import erasures
from stores.database import Connection, connect
from stores.erasures import Status
from stores.vault import Vault, open_vault
from streams.codec import message
from streams.producer import publish

_ACCEPTED_WITHIN = 10.0
"""Seconds that the purger has to take a request up, where nobody asked to wait for its end."""
_ENDED = (
    ErasureState.VERIFIED,
    ErasureState.FINAL,
    ErasureState.NEEDS_HUMAN,
    ErasureState.CANCELLED,
)
_POLL_SECONDS = 0.02


def dry_run(settings: Settings, tenant: str, selector: Selector) -> dict[str, Any]:
    """Count what a request would meet; nothing is published or written."""
    # All of the purger: only this needs it, and it takes a second to read in.
    from consumers.purger.dryrun import as_requested

    counts, digest = as_requested(settings, tenant, selector)
    plan = {"digest": digest, "counts": by_store(counts)}
    return {"request_id": None, "erasure_id": None, "nonce": None, "state": None, "plan": plan}


def order(settings: Settings, event: Deletion, wait: bool, timeout: float) -> dict[str, Any]:
    """Publish the request, follow it, and say how far it came."""
    selector = event.selector
    subject = selector.subject if selector else None
    # Without a subject the tenant alone keeps its requests in order.
    key = f"{event.tenant}:{subject}" if subject else event.tenant
    publish(settings, [message(DELETIONS, key, event, event.request_id)])
    vault = open_vault(settings)
    try:
        return _followed(settings, vault, event, wait, timeout)
    finally:
        vault.close()


def _followed(settings: Settings, vault: Vault, event: Deletion, wait: bool, timeout: float) -> dict[str, Any]:
    until = time.monotonic() + (timeout if wait else min(timeout, _ACCEPTED_WITHIN))
    told = None
    with connect(settings.database, autocommit=True, application="obelus forget") as conn:
        while True:
            lookup = vault.lookup(event.tenant)
            found = erasures.status(conn, lookup.holder(event.request_id)) if lookup else None
            if found is not None and lookup is not None and erasures.conflicts(lookup, found, event):
                return _refused(event)
            if found is not None and found.state is not told:
                told = found.state
                note(f"{told}")
            if found is not None and _over(found, event, wait):
                break
            if time.monotonic() >= until:
                break
            time.sleep(_POLL_SECONDS)
        return _answer(conn, event, found, wait)


def _over(found: Status, event: Deletion, wait: bool) -> bool:
    if event.cancel:
        return found.state is ErasureState.CANCELLED or found.blocked_at is not None
    if found.not_before is not None and found.state is ErasureState.PLANNED:
        # A grace period is not waited for.
        return found.plan is not None
    if found.state is ErasureState.CANCELLED:
        return True
    return found.state in _ENDED if wait else found.plan is not None


def _answer(conn: Connection, event: Deletion, found: Status | None, wait: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "request_id": event.request_id,
        "erasure_id": found.id.hex() if found else None,
        "nonce": event.nonce if found is None or erasures.counts_nonce(found, event) else None,
        "state": found.state.value if found else None,
        "plan": {
            "digest": found.plan_digest if found else None,
            "counts": by_store((found.plan if found else None) or {}),
        },
        "_status": _exit_status(found, event, wait),
    }
    receipt = erasures.newest_receipt(conn, found.id) if found else None
    if receipt is not None:
        answer["receipt"] = orjson.loads(receipt.envelope)
    return answer


def _refused(event: Deletion) -> dict[str, Any]:
    """What to say where another request has the id: nothing was planned for this one, and nothing will be erased."""
    note("this request id was used for another selector: the request was refused; take a new id")
    return {
        "request_id": event.request_id,
        "erasure_id": None,
        "nonce": None,
        "state": ErasureState.CANCELLED.value,
        "reason": "request_conflict",
        "plan": {"digest": None, "counts": {}},
        "_status": NO,
    }


def _exit_status(found: Status | None, event: Deletion, wait: bool) -> int:
    if found is None and event.cancel:
        note("no request of this id was taken up")
        return NO
    if found is None:
        note("nobody has taken the request up yet; it stays in the log")
        return NO if wait else DONE
    if event.cancel:
        return DONE if found.state is ErasureState.CANCELLED else NO
    if found.state is ErasureState.CANCELLED:
        changed = event.plan_digest not in (None, found.plan_digest)
        note("the plan has changed since its dry run" if changed else "the request was cancelled")
        return NO
    done = (ErasureState.VERIFIED, ErasureState.FINAL)
    if found.not_before is not None and found.state is ErasureState.PLANNED:
        note(f"nothing is erased before {stamp(found.not_before)}; until then --cancel {event.request_id} stops it")
    return DONE if not wait or found.state in done else NO


def by_store(counts: Mapping[str, int]) -> dict[str, int]:
    """Sum counts by map entry up to counts by store; stores that hold nothing countable are left out."""
    found: dict[str, int] = {}
    order = list(datamap.BY_NAME)
    for entry, count in sorted(counts.items(), key=lambda item: order.index(item[0])):
        store = datamap.BY_NAME[entry].store
        if store in _COUNTED:
            found[store.value] = found.get(store.value, 0) + count
    return found


_COUNTED = (
    datamap.Store.POSTGRES,
    datamap.Store.QDRANT,
    datamap.Store.REDIS,
    datamap.Store.OWNERS,
    datamap.Store.VAULT,
)
