"""The body of a candidate: a ``Draft`` as JSON, sealed under the subject's key before it is stored."""

from __future__ import annotations

import orjson
from pydantic import TypeAdapter

from schemas.records import Draft

_DRAFT = TypeAdapter(Draft)


def dump_draft(draft: Draft) -> bytes:
    """Return the plain body of a candidate; it holds content, so it is only ever stored sealed."""
    return orjson.dumps(draft)


def load_draft(plain: bytes) -> Draft:
    """Return the draft of an opened body.

    Raises:
        pydantic.ValidationError: the body was written by something else; it carries content, so
            callers must not show it.
    """
    return _DRAFT.validate_json(plain)
