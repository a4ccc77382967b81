"""`GET /v1/erasures/{id}/artefacts`: which artefacts an order on ``memory.erasures`` is about, page by page.

The order itself has constant size and names none. With the salt an owner checks that it has seen all of them:
the order's digest is the SHA-256 of the salt and the sorted names, each followed by a line feed.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from fastapi import APIRouter, Request, Response

from recall.api.answers import answer, call, granted
from recall.api.erasures import mine
from recall.problems import Problem, not_found
from schemas.ids import check_id
from stores.artefacts import Page
from stores.artefacts import page as page_of_order
from stores.database import translate
from stores.memory_records import stamp

router = APIRouter()


@router.get("/v1/erasures/{name}/artefacts")
async def artefacts(
    request: Request, name: str, owner: str, order: int | None = None, page: str | None = None
) -> Response:
    """List an owner's artefacts of an order, by default of its newest; ``page`` is ``next`` of the answer before."""
    context, grant = granted(request, "artefacts")
    after = _after(owner, page)

    def look() -> Page | None:
        lookup = context.vault.lookup(grant.tenant)
        with translate(), context.pool.connection() as connection:
            found = mine(context, connection, grant, name)
            if lookup is None or found is None:
                return None
            return page_of_order(connection, lookup, found, owner, order=order, after=after)

    found = await call(context, look)
    if found is None:
        raise not_found()
    return answer(_shown(owner, found))


def _after(owner: str, cursor: str | None) -> bytes:
    try:
        check_id(owner)
        return bytes.fromhex(cursor or "")
    except ValueError:
        raise Problem(422, "invalid_request", "owner or page is malformed.") from None


def _shown(owner: str, found: Page) -> dict[str, Any]:
    return {
        "owner": owner,
        "order": found.order,
        "action": found.action,
        "state": found.state,
        "deadline": stamp(found.deadline),
        "count": found.count,
        "digest": found.digest,
        "salt": urlsafe_b64encode(found.salt).decode().rstrip("="),
        "artefacts": found.artefacts,
        "next": found.next,
    }
