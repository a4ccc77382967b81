"""Screening on the way in; a detector that fails holds the batch back, it never lets anything through (P10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from policy.screening import screen, screen_object
from schemas.errors import TransientError

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def screened_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return text without its secret spans, and the kinds of these.

    Raises:
        TransientError: screening failed.
    """
    seen = _run(screen, text)
    return seen.text, tuple(hit.kind for hit in seen.hits) if seen.hits else ()


def screened_object(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return metadata without its secret spans, and the kinds of these.

    Raises:
        TransientError: screening failed.
    """
    seen = _run(screen_object, metadata)
    return seen.value, seen.kinds


def _run(screening: Callable[[_In], _Out], given: _In) -> _Out:
    try:
        return screening(given)
    except Exception as error:
        # The message of a detector's error may quote what it read.
        raise TransientError(f"screening failed: {type(error).__name__}") from None
