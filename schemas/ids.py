"""Ids as outsiders write them: a narrow grammar, so that no wildcard or padding gets in (contracts, Ids)."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator

MAX_ID = 128
# \w is letters, digits and underscore of any script; what else an id may hold is listed.
_GRAMMAR = re.compile(r"[\w.@+\-]{1,128}")


def check_id(value: str) -> str:
    """Return ``value`` where it is an id.

    Raises:
        ValueError: empty, over 128 characters, not NFC, or a character outside letters, digits and ``. _ @ + -``.
    """
    if _GRAMMAR.fullmatch(value) is None:
        raise ValueError("not an id: 1 to 128 letters, digits or . _ @ + -")
    if not value.isascii() and unicodedata.normalize("NFC", value) != value:
        raise ValueError("not an id: must be Unicode NFC")
    return value


def check_namespace(value: str) -> str:
    """Return ``value`` where it is ids joined by dots, no segment empty.

    Raises:
        ValueError: not an id, or an empty segment.
    """
    check_id(value)
    if "" in value.split("."):
        raise ValueError("not a namespace: empty segment")
    return value


def within(namespace: str, prefix: str) -> bool:
    """True where ``namespace`` is ``prefix`` or below it, compared by segments (R12)."""
    have, want = namespace.split("."), prefix.split(".")
    return have[: len(want)] == want


Id = Annotated[str, AfterValidator(check_id)]
Namespace = Annotated[str, AfterValidator(check_namespace)]
