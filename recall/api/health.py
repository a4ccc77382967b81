"""Health and metrics on the API's own port too; they need no token and say nothing of anybody."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from recall.api.answers import answer, call
from recall.api.context import Context
from stores.database import translate

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def healthz() -> Response:
    """The process runs."""
    return answer({"alive": True})


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """PostgreSQL answers; without it nothing can be told."""
    context: Context = request.app.state.context
    await call(context, lambda: _probe(context))
    return answer({"ready": True})


@router.get("/metrics")
async def metrics() -> Response:
    """Prometheus metrics of this process."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def _probe(context: Context) -> None:
    with translate(), context.pool.connection() as connection:
        connection.execute("SELECT 1")
