"""`GET /v1/erasures/{id}`, `GET /v1/receipts/{id}`, `GET /v1/keys`: how far a deletion is, and its proof."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from recall.api.answers import answer, call, granted
from recall.api.context import Context
from recall.auth import Grant
from recall.problems import not_found
from recall.truth import SQL
from stores import erasures
from stores.database import Connection, translate
from stores.memory_records import stamp
from stores.signing import public_keys_file

router = APIRouter()


@router.get("/v1/erasures/{name}")
async def erasure(request: Request, name: str) -> Response:
    """Say how far an erasure is; ``name`` is its id or the id of the request."""
    context, grant = granted(request, "erasures")

    def look() -> dict[str, Any] | None:
        with translate(), context.pool.connection() as connection:
            found = mine(context, connection, grant, name)
            status = erasures.status(connection, found) if found else None
            if status is None:
                return None
            return {
                "request_id": erasures.request_id(context.vault, status.id),
                "erasure_id": status.id.hex(),
                "kind": status.kind,
                "state": status.state.value,
                "requested_at": stamp(status.requested_at),
                "deadline": stamp(status.deadline),
                "not_before": stamp(status.not_before),
                "blocked_at": stamp(status.blocked_at),
                "verified_at": stamp(status.verified_at),
                "finished_at": stamp(status.finished_at),
                "plan": {"digest": status.plan_digest, "counts": dict(status.plan or {})},
                "waiting_for": erasures.waiting(connection, [status.id])[status.id],
            }

    found = await call(context, look)
    if found is None:
        raise not_found()
    return answer(found)


@router.get("/v1/receipts/{name}")
async def receipt(request: Request, name: str) -> Response:
    """Give the newest receipt of an erasure: the DSSE envelope, byte for byte."""
    context, grant = granted(request, "erasures")

    def look() -> bytes | None:
        with translate(), context.pool.connection() as connection:
            found = mine(context, connection, grant, name)
            kept = erasures.newest_receipt(connection, found) if found else None
            return None if kept is None else bytes(kept.envelope)

    envelope = await call(context, look)
    if envelope is None:
        raise not_found()
    return Response(envelope, media_type="application/json")


@router.get("/v1/keys")
async def keys(request: Request) -> Response:
    """Give the public keys that verify receipts, in PEM; take them from elsewhere too before trusting them."""
    context, _ = granted(request, "keys")
    try:
        pem = public_keys_file(context.settings).read_text("ascii")
    except OSError:
        raise not_found() from None
    return answer({"keys": [{"algorithm": "ed25519", "pem": pem}]})


def mine(context: Context, connection: Connection, grant: Grant, name: str) -> bytes | None:
    """Give the erasure's id where the token may see it: its own tenant's, and for a person their own."""
    lookup = context.vault.lookup(grant.tenant)
    found = erasures.erasure_id(context.vault, grant.tenant, name)
    if lookup is None or found is None:
        return None
    row = connection.execute(SQL.erasure_subject, {"id": found}).fetchone()
    if row is None or row[0] != lookup.tenant_ref:
        return None
    if grant.subject is not None and row[1] != lookup.subject(grant.subject):
        return None
    return found
