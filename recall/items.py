"""Memories as they leave: one item of the pack, one conflict, with their source (cli.md, ``recall``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from recall.model import Known, Ranked
from stores.memory_records import stamp
from stores.sealing import SubjectKeys

Sources = Mapping[str, dict[str, Any]]


def sources_of(keys: SubjectKeys, rows: Sequence[Sequence[Any]]) -> Sources:
    """Open rows of ``sources`` (memory, candidate, at, body); the first source speaks for the memory (C2)."""
    found: defaultdict[str, dict[str, Any]] = defaultdict(lambda: {"conversation": None, "message_ids": []})
    for memory, candidate, at, body in rows:
        document = orjson.loads(keys.open(candidate, body))
        source = found[memory.hex()]
        if source["conversation"] is None:
            source["conversation"] = document.get("conversation")
            source["at"] = stamp(at)
        message = document.get("message_id")
        if message is not None and message not in source["message_ids"]:
            source["message_ids"].append(message)
    return found


def item_of(entry: Ranked, sources: Sources) -> dict[str, Any]:
    """One item of the pack."""
    memory = entry.memory
    item = described(memory, sources) | {"score": round(entry.score, 4)}
    if memory.content.conditions:
        item["applies"] = entry.holds
    if entry.contradicted:
        item["contradicted"] = True
    return item


def described(memory: Known, sources: Sources) -> dict[str, Any]:
    """What is said of a memory wherever it is shown."""
    content = memory.content
    return {
        "id": memory.id,
        "type": memory.type.value,
        "namespace": content.namespace,
        "key": content.key,
        "value": content.value,
        "polarity": memory.polarity.value,
        "conditions": list(content.conditions),
        "scope": content.scope,
        "version": memory.version,
        "confidence": round(memory.confidence, 4),
        "source": sources.get(memory.id) or {"conversation": None, "message_ids": []},
        "valid_from": stamp(memory.valid_from),
        "expires_at": stamp(memory.expires_at),
    }


def conflict_of(group: Sequence[Ranked], sources: Sources) -> dict[str, Any]:
    """Memories of one slot that say different things, strongest authority first; nothing is guessed (C7)."""
    first = group[0].memory.content
    ordered = sorted(group, key=lambda entry: (-entry.memory.source_type.authority, entry.memory.id))
    return {
        "namespace": first.namespace,
        "key": first.key,
        "options": [described(entry.memory, sources) for entry in ordered],
    }
