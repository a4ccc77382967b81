"""`POST /v1/controls`, `POST /v1/forget`: each produces the event, then waits a moment for it to be applied."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from recall import orders
from recall.api.answers import answer, body_of, call, granted, read
from recall.api.context import Context
from recall.api.requests import ControlBody, ForgetBody
from recall.auth import Grant
from recall.problems import Problem
from schemas.events import Control, Deletion
from schemas.words import Actor, ApiRole, ErasureState, SelectorKind
from stores.database import translate

router = APIRouter()

WAIT_SECONDS = 1.0
_ACTORS = {ApiRole.PERSON: Actor.PERSON, ApiRole.OPERATOR: Actor.OPERATOR}
# From Block on nothing of the subject is read or written: the request has its effect.
_ENDED = frozenset({ErasureState.CANCELLED})
_IN_EFFECT = frozenset(ErasureState) - _ENDED - {ErasureState.PLANNED}


@router.post("/v1/controls", openapi_extra=body_of(ControlBody))
async def controls(request: Request) -> Response:
    """Order something about memories or consent."""
    context, grant = granted(request, "controls")
    body = await read(request, ControlBody)
    subject = grant.scoped(body.subject, body.tenant)
    event = orders.control(grant.tenant, subject, _ACTORS[grant.role], body.model_dump(exclude={"tenant", "subject"}))
    outcome = await call(context, lambda: _order(context, event))
    applied, how = outcome or (False, None)
    return answer({"request_id": event.request_id, "applied": applied, "outcome": how}, 200 if applied else 202)


@router.post("/v1/forget", openapi_extra=body_of(ForgetBody))
async def forget(request: Request) -> Response:
    """Ask for an erasure."""
    context, grant = granted(request, "forget")
    body = await read(request, ForgetBody)
    event = orders.deletion(grant.tenant, grant.role.value, _selected(grant, body))
    return answer(await call(context, lambda: _forget(context, event)), 202)


def _selected(grant: Grant, body: ForgetBody) -> dict[str, Any]:
    """The request's fields with a selector inside the token's scope.

    Raises:
        Problem: 403 where the selector names another subject, or a whole tenant and the token may not; 422 where
            a whole tenant is named without a plan.
    """
    fields = body.model_dump(exclude={"tenant", "subject", "selector"}, exclude_none=True)
    selector = body.selector
    if selector is not None and selector.kind is SelectorKind.TENANT:
        if grant.subject is not None or grant.role is ApiRole.PERSON:
            raise Problem(403, "scope_differs", "A person cannot erase a tenant.")
        grant_tenant(grant, body.tenant)
        if body.plan_digest is None and not body.cancel:
            raise Problem(422, "invalid_request", "A whole tenant needs plan_digest, which a dry run gives.")
        return fields | {"selector": selector.model_dump(exclude_none=True)}
    if body.cancel and selector is None and body.subject is None and grant.subject is None:
        grant_tenant(grant, body.tenant)
        return fields
    named = selector.subject if selector is not None else body.subject
    subject = grant.scoped(named, body.tenant)
    if body.subject is not None and body.subject != subject:
        raise Problem(403, "scope_differs", "The selector names another subject.")
    chosen = {"kind": "subject"} if selector is None else selector.model_dump(exclude_none=True)
    return fields | {"selector": chosen | {"subject": subject}}


def grant_tenant(grant: Grant, tenant: str | None) -> None:
    """Refuse a body that names another tenant than the token.

    Raises:
        Problem: 403.
    """
    if tenant is not None and tenant != grant.tenant:
        raise Problem(403, "scope_differs", "The tenant is fixed by the token.")


def _order(context: Context, event: Control) -> tuple[bool, str] | None:
    context.outbound.send(orders.control_message(event))

    def look() -> tuple[bool, str] | None:
        with translate(), context.pool.connection() as connection:
            return orders.control_outcome(connection, context.vault, event)

    return orders.await_(look, WAIT_SECONDS)


def _forget(context: Context, event: Deletion) -> dict[str, Any]:
    context.outbound.send(orders.deletion_message(event))

    def look() -> dict[str, Any] | None:
        with translate(), context.pool.connection() as connection:
            found = orders.erasure_state(connection, context.vault, event)
        if found is None:
            return None
        seen.update(found)
        if "reason" in found:
            return seen
        wanted = _ENDED if event.cancel else _IN_EFFECT
        return seen | {"applied": True} if found["state"] in wanted else None

    seen: dict[str, Any] = {
        "request_id": event.request_id,
        "nonce": event.nonce,
        "erasure_id": None,
        "state": None,
        "applied": False,
    }
    return orders.await_(look, WAIT_SECONDS) or seen
