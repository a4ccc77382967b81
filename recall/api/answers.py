"""Small things that every handler needs: who asks, what was sent, and how the answer is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response
from pydantic import BaseModel, ValidationError

from recall.api.context import Context
from recall.auth import Grant
from recall.problems import Problem, invalid, unavailable

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)

MAX_BODY_BYTES = 1 << 20
# Longer than any statement and vector time-out together; a handler that takes this long has lost its part.
CALL_SECONDS = 5.0


def granted(request: Request, deed: str) -> tuple[Context, Grant]:
    """Return the parts and what the token allows.

    Raises:
        Problem: 401 or 403.
    """
    context: Context = request.app.state.context
    grant = context.tokens.grant(request.headers.get("authorization"))
    grant.permit(deed)
    if request.query_params.get("tenant", grant.tenant) != grant.tenant:
        raise Problem(403, "scope_differs", "The tenant is fixed by the token.")
    return context, grant


async def read(request: Request, model: type[B]) -> B:
    """Parse a body.

    Raises:
        Problem: 413 or 422, without what was sent.
    """
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            raise Problem(413, "too_large", "The body is over 1 MiB.")
    try:
        return model.model_validate_json(bytes(raw))
    except ValidationError as error:
        raise invalid(error.errors(include_input=False, include_url=False, include_context=False)) from None


async def call(context: Context, work: Callable[[], T], seconds: float = CALL_SECONDS) -> T:
    """Run blocking work in a handler thread.

    Raises:
        Problem: 503 where it takes too long; the thread ends by its own time-outs.
    """
    future = asyncio.get_running_loop().run_in_executor(context.threads, work)
    try:
        return await asyncio.wait_for(future, seconds)
    except TimeoutError:
        raise unavailable() from None


def answer(document: Any, status: int = 200) -> Response:
    """Write a document as JSON."""
    return Response(orjson.dumps(document), status, media_type="application/json")


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body to OpenAPI; handlers parse it themselves, which saves a third of a millisecond."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
