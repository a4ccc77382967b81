"""`GET /v1/memories`, `GET /v1/memories/{id}`, `GET /v1/export`: what is held, for whoever may see it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Query, Request, Response

from recall.api.answers import answer, call, granted
from recall.export import export
from recall.problems import not_found
from recall.shelf import listing, one
from schemas.words import ApiRole
from stores.database import connect, translate

router = APIRouter()

EXPORT_SECONDS = 60.0


@router.get("/v1/memories")
async def memories(
    request: Request, subject: str | None = None, every: bool = Query(default=False, alias="all")
) -> Response:
    """List a person's active memories; with ``all`` those of every status, never for an agent."""
    context, grant = granted(request, "memories")
    who, agent = grant.scoped(subject), grant.role is ApiRole.AGENT

    def look() -> list[dict[str, Any]]:
        with translate(), context.pool.connection() as connection:
            return listing(connection, context.vault, grant.tenant, who, every=every, agent=agent)

    return answer({"memories": await call(context, look)})


@router.get("/v1/memories/{memory}")
async def memory(request: Request, memory: str) -> Response:
    """Show one memory: to an agent while it is active, to the person in any status."""
    context, grant = granted(request, "memories")
    try:
        wanted = bytes.fromhex(memory)
    except ValueError:
        raise not_found() from None

    def look() -> dict[str, Any] | None:
        with translate(), context.pool.connection() as connection:
            return one(
                connection, context.vault, grant.tenant, grant.subject, wanted, agent=grant.role is ApiRole.AGENT
            )

    found = await call(context, look)
    if found is None:
        raise not_found()
    return answer(found)


@router.get("/v1/export")
async def exported(request: Request, subject: str | None = None) -> Response:
    """Give all that is held of a person, values opened, with counts."""
    context, grant = granted(request, "export")
    who = grant.scoped(subject)

    def collect() -> dict[str, Any]:
        # A connection of its own: an export may take longer than any recall may wait.
        with connect(context.settings.database, application="obelus export") as connection:
            return export(connection, context.vault, grant.tenant, who)

    return answer(await call(context, collect, EXPORT_SECONDS))
