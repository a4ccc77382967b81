"""From an event with natural ids to a request with keyed references, and the vault's own copy of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import orjson

from consumers.purger.decide import Request
from policy.receipts import subject_tag
from schemas.events import Deletion
from stores.erasures import selector_digest
from stores.sealing import Lookup, lock_of
from stores.vault import Vault
from streams.codec import Record


def request_of(record: Record, event: Deletion, lookup: Lookup) -> Request:
    """Name the request, its subject and its selector by keyed hashes; tag it for the nonce's holder."""
    selector = event.selector
    subject = selector.subject if selector else None
    erasure = lookup.holder(event.request_id)
    ref = lookup.subject(subject) if subject else None
    return Request(
        id=erasure,
        tenant=lookup.tenant_ref,
        subject=ref,
        lock=lock_of(ref) if ref else None,
        kind=selector.kind if selector else None,
        selector=selector_digest(lookup, selector) if selector else b"",
        tag=_tag(event, subject, erasure),
        requested_at=datetime.fromtimestamp(record.timestamp_ms / 1000, UTC),
        deadline=event.deadline,
        expected_digest=event.plan_digest,
        cancel=event.cancel,
        cause=record.position,
    )


def keep(vault: Vault, requests: Iterable[tuple[Request, Deletion]]) -> None:
    """Seal a batch's requests in the vault, durably and before anything is done: a restore needs them.

    The nonce is left out: only its holder may tie a receipt to a person.
    """
    new = [(request, event) for request, event in requests if not request.cancel]
    if not new:
        return
    with vault.together():
        for request, event in new:
            body = event.model_dump(mode="json", exclude_none=True, exclude={"nonce"})
            body["accepted_ms"] = int(request.requested_at.timestamp() * 1000)
            vault.record_request(request.id, request.tenant, request.selector, orjson.dumps(body))


def _tag(event: Deletion, subject: str | None, erasure: bytes) -> bytes | None:
    if event.nonce is None:
        return None
    return subject_tag(event.nonce, event.tenant, subject or "", erasure.hex())
