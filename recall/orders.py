"""Orders of a person or platform: the event, and what became of it. Only the log carries an order (U3)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from recall.people import find
from recall.problems import invalid
from recall.truth import SQL
from schemas.events import Control, Deletion
from schemas.topics import DELETIONS, TURNS
from schemas.words import ErasureState
from stores.database import Connection
from stores.erasures import conflicts, counts_nonce, status
from stores.vault import Vault
from streams.codec import Message, message

T = TypeVar("T")
POLL_SECONDS = 0.02


def control(tenant: str, subject: str, actor: str, fields: dict[str, Any]) -> Control:
    """Make a control; request id and time are filled in where they were not given.

    Raises:
        Problem: 422 where the action lacks something.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    given.setdefault("request_id", f"control-{secrets.token_hex(8)}")
    given.setdefault("at", datetime.now(UTC))
    try:
        return Control.model_validate(given | {"tenant": tenant, "subject": subject, "actor": actor})
    except ValidationError as error:
        raise invalid(error.errors(include_input=False, include_url=False, include_context=False)) from None


def deletion(tenant: str, requested_by: str, fields: dict[str, Any]) -> Deletion:
    """Make a deletion request; request id and nonce are drawn where they were not given.

    Raises:
        Problem: 422 where the selector is not one.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    given.setdefault("request_id", f"forget-{secrets.token_hex(8)}")
    if not given.get("cancel"):
        given.setdefault("nonce", secrets.token_urlsafe(32))
    try:
        return Deletion.model_validate(given | {"tenant": tenant, "requested_by": requested_by})
    except ValidationError as error:
        raise invalid(error.errors(include_input=False, include_url=False, include_context=False)) from None


def control_message(event: Control) -> Message:
    """The record of a control, in line with its subject's turns."""
    return message(TURNS, f"{event.tenant}:{event.subject}", event, event.request_id)


def deletion_message(event: Deletion) -> Message:
    """The record of a deletion request; without a subject the tenant alone keeps its requests in order."""
    subject = event.selector.subject if event.selector else None
    return message(DELETIONS, f"{event.tenant}:{subject}" if subject else event.tenant, event, event.request_id)


def control_outcome(connection: Connection, vault: Vault, event: Control) -> tuple[bool, str] | None:
    """What became of a control: whether it was applied, and how it ended; None while nobody has the last word."""
    life = find(connection, vault, event.tenant, event.subject)
    if life is None:
        return None
    row = connection.execute(SQL.order, {"id": life.keys.id("control", event.request_id)}).fetchone()
    return None if row is None or row[1] is None else (row[0], row[1])


def erasure_state(connection: Connection, vault: Vault, event: Deletion) -> dict[str, Any] | None:
    """How far a deletion request came, as fields of an answer; None while the purger has not taken it up."""
    lookup = vault.lookup(event.tenant)
    found = status(connection, lookup.holder(event.request_id)) if lookup else None
    if found is None or lookup is None:
        return None
    if conflicts(lookup, found, event):
        return {"nonce": None, "state": ErasureState.CANCELLED.value, "reason": "request_conflict"}
    nonce = event.nonce if counts_nonce(found, event) else None
    return {"nonce": nonce, "erasure_id": found.id.hex(), "state": found.state.value}


def await_(look: Callable[[], T | None], seconds: float) -> T | None:
    """Look again and again until there is an answer or the time is up."""
    until = time.monotonic() + seconds
    while (found := look()) is None and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return found
