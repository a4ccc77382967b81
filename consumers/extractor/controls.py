"""Controls of a person or platform: what is stored of them, and which become a candidate for gate and resolver."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from consumers.extractor.screened import screened_text
from schemas.events import Control
from schemas.records import GLOBAL_SCOPE, Content, Draft
from schemas.words import Action, MemoryType, Polarity, SourceType

_PROPOSED = frozenset(
    {
        Action.CONFIRM,
        Action.DECLINE,
        Action.DISABLE,
        Action.CORRECT,
        Action.NARROW,
        Action.ROLLBACK,
        Action.REVERT,
    }
)


@dataclass(frozen=True, slots=True)
class ReadControl:
    """A screened control: its sealed body to be, kinds of what was taken out, and the draft where it is one."""

    body: bytes
    kinds: tuple[str, ...]
    draft: Draft | None


def read_control(control: Control) -> ReadControl:
    """Screen the one free text of a control and say what it proposes."""
    value, kinds = (None, ()) if control.value is None else screened_text(control.value)
    body = {
        "request_id": control.request_id,
        "conversation": control.conversation,
        "memory": control.memory,
        "value": value,
        "scope": control.scope,
        "since": control.since,
        "until": control.until,
        "at": control.at,
    }
    plain = orjson.dumps({name: item for name, item in body.items() if item is not None})
    draft = as_draft(control, value) if control.action in _PROPOSED else None
    return ReadControl(plain, kinds, draft)


def as_draft(control: Control, value: str | None) -> Draft:
    """Write an order as a draft of source ``user_confirmed``.

    ``target`` is the memory (hex). ``correct`` has the new text in ``content.value``, ``narrow`` the new scope in
    ``content.scope``. ``revert`` has no target: the conversation is in ``content.key``, the time range in
    ``valid_from`` and ``valid_to``. Everything else of the content is empty: it is the target's.
    """
    revert = control.action is Action.REVERT
    return Draft(
        content=Content(
            namespace="",
            key=(control.conversation or "") if revert else "",
            value=value or "",
            quote=value or "",
            scope=control.scope or GLOBAL_SCOPE,
        ),
        type=MemoryType.FACT,
        polarity=Polarity.NEUTRAL,
        source_type=SourceType.USER_CONFIRMED,
        confidence=1.0,
        importance=1.0,
        explicit=True,
        valid_from=control.since if revert else None,
        valid_to=control.until if revert else None,
        rule=f"control.{control.action}",
        action=control.action,
        target=control.memory,
    )
