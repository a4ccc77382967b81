"""Bodies that the API takes. Unknown fields are ignored and never set scope; ``tenant`` may only repeat the token's."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from schemas.events import HexId, Selector, Value
from schemas.ids import Id, Namespace
from schemas.words import Action

Text = Annotated[str, StringConstraints(max_length=16_384)]
Nonce = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43}$")]


class Body(BaseModel):
    """Base of all bodies: frozen; an error never quotes what was sent."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    tenant: Id | None = None
    subject: Id | None = None


class RecallBody(Body):
    """``POST /v1/recall``.

    ``conversation`` adds its session window, ``scope`` names the project or device at hand, ``namespaces`` narrows,
    ``text`` adds the pack as text for a prompt.
    """

    query: Text
    limit: int | None = Field(default=None, ge=1, le=50)
    token_budget: int | None = Field(default=None, ge=1, le=100_000)
    at: AwareDatetime | None = None
    statements: tuple[Text, ...] = Field(default=(), max_length=50)
    conversation: Id | None = None
    scope: Namespace | None = None
    namespaces: tuple[Namespace, ...] | None = Field(default=None, min_length=1, max_length=50)
    text: bool = False


class ControlBody(Body):
    """``POST /v1/controls``: a control of contracts.md; request id, time and actor are filled in."""

    request_id: Id | None = None
    action: Action
    conversation: Id | None = None
    memory: HexId | None = None
    value: Value | None = None
    scope: Namespace | None = None
    at: AwareDatetime | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None


class ForgetBody(Body):
    """``POST /v1/forget``: a deletion request. Without a selector the whole subject; ``tenant`` takes no subject."""

    request_id: Id | None = None
    selector: Selector | None = None
    deadline: AwareDatetime | None = None
    legal_basis: Annotated[str, StringConstraints(max_length=256)] | None = None
    plan_digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    cancel: bool = False
    nonce: Nonce | None = None
