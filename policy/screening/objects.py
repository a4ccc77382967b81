"""Screening of nested metadata, keys and values alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.screening.found import PASSWORD, PLACEHOLDER
from policy.screening.spans import screen

# Metadata is small and flat in practice; deeper than this it is an attack on the stack.
MAX_DEPTH = 32
_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|^pwd$|secret|(?:api|access|auth|private)[ _\-]?(?:key|token)|^token$"
    r"|^authorization$|^cookie$|密码|口令|密钥",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ScreenedObject:
    """Metadata that may be stored, and the kinds of what was taken out of it."""

    value: dict[str, Any]
    kinds: tuple[str, ...] = ()


def screen_object(metadata: Mapping[str, Any]) -> ScreenedObject:
    """Screen every key and value of ``metadata``; a value under a name like "password" goes whatever it looks like."""
    kinds: list[str] = []
    value = {_text(str(key), kinds): _under(str(key), item, kinds, 1) for key, item in metadata.items()}
    return ScreenedObject(value, tuple(kinds))


def _under(name: str, item: Any, kinds: list[str], depth: int) -> Any:
    placeholder = f"[{PASSWORD}]"
    if isinstance(item, str | int | float) and not isinstance(item, bool) and item != placeholder:
        if _SECRET_NAME.search(PLACEHOLDER.sub("", name)) and str(item):
            kinds.append(PASSWORD)
            return placeholder
    return _value(item, kinds, depth)


def _value(item: Any, kinds: list[str], depth: int) -> Any:
    if depth > MAX_DEPTH:
        kinds.append("too_deep")
        return None
    if isinstance(item, str):
        return _text(item, kinds)
    if isinstance(item, bool) or item is None:
        return item
    if isinstance(item, int | float):
        written = str(item)
        screened = _text(written, kinds)
        return item if screened == written else screened
    if isinstance(item, Mapping):
        return {_text(str(key), kinds): _under(str(key), below, kinds, depth + 1) for key, below in item.items()}
    if isinstance(item, list | tuple):
        return [_value(below, kinds, depth + 1) for below in item]
    return _text(str(item), kinds)


def _text(text: str, kinds: list[str]) -> str:
    screened = screen(text)
    kinds.extend(hit.kind for hit in screened.hits)
    return screened.text
