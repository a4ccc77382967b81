"""How a memory is named and put into words where several packages must agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stores.sealing import SubjectKeys


def namespace_hashes(keys: SubjectKeys, namespace: str) -> tuple[bytes, ...]:
    """Return the keyed hash of each prefix of a namespace, shortest first (R12).

    A search in ``work`` looks for the hash of ``work``, and finds ``work.editor`` by it.
    """
    segments = namespace.split(".")
    prefixes = (".".join(segments[:count]) for count in range(1, len(segments) + 1))
    return tuple(keys.id("namespace", prefix) for prefix in prefixes)


def namespace_hash(keys: SubjectKeys, namespace: str) -> bytes:
    """Return the keyed hash by which a search is kept to a namespace and what is below it."""
    return keys.id("namespace", namespace)


def point_id(keys: SubjectKeys, memory: bytes, version: int) -> bytes:
    """Return the id of the index point of one version of a memory."""
    return keys.id("point", memory, str(version))


def embedding_text(body: Mapping[str, Any]) -> str:
    """Return the words of an opened memory that are embedded; never stored anywhere."""
    value, quote = body["value"], body.get("quote") or ""
    words = [quote if value in quote else f"{value}. {quote}" if quote else value]
    words.extend(condition.replace("_", " ") for condition in body.get("conditions") or ())
    return " ".join(words)
