"""Which items a selector takes: found by key where they are named, by opening where they are sealed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import orjson

from consumers.drafts import load_draft
from consumers.extractor.ids import conversation_id, turn_id
from policy.text import normalise_key
from schemas.events import Selector
from schemas.ids import within
from schemas.words import SelectorKind
from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.sql import load

SQL = load("consumers.purger.narrow", "narrow.sql")


@dataclass
class Items:
    """Ids by kind. ``memories`` are those to be deleted; ``touched`` lose a source and are recomputed.

    ``traces``, ``cached`` and ``windows`` are the copies that lineage leads to from there. Of ``staged`` candidates
    and ``logged`` turns only the row goes; what came of them stays. ``handles``: of whom, where the erasure has no
    handle of its own.
    """

    turns: set[bytes] = field(default_factory=set)
    candidates: set[bytes] = field(default_factory=set)
    memories: set[bytes] = field(default_factory=set)
    touched: set[bytes] = field(default_factory=set)
    controls: set[bytes] = field(default_factory=set)
    points: set[bytes] = field(default_factory=set)
    traces: set[bytes] = field(default_factory=set)
    cached: set[bytes] = field(default_factory=set)
    windows: set[bytes] = field(default_factory=set)
    staged: set[bytes] = field(default_factory=set)
    logged: set[bytes] = field(default_factory=set)
    handles: set[bytes] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)

    def add(self, other: Items) -> None:
        """Take in what another pass has found."""
        for kind in _IDS:
            getattr(self, kind).update(getattr(other, kind))

    def as_json(self) -> dict[str, list[str]]:
        """Keyed ids in hex; natural ids of messages stay out."""
        return {kind: sorted(one.hex() for one in getattr(self, kind)) for kind in _IDS}

    @classmethod
    def from_json(cls, body: Mapping[str, Iterable[str]]) -> Items:
        """Read what `as_json` wrote."""
        items = cls()
        for kind in _IDS:
            getattr(items, kind).update(map(bytes.fromhex, body.get(kind, ())))
        return items


_IDS = tuple(one.name for one in fields(Items) if one.name != "messages")


def find(conn: Connection, keys: SubjectKeys, selector: Selector) -> Items:
    """Find what a selector takes now."""
    items = Items()
    if selector.kind in (SelectorKind.MEMORY, SelectorKind.KEY, SelectorKind.NAMESPACE):
        _by_content(conn, keys, selector, items)
    else:
        _by_source(conn, keys, selector, items)
    return _closed(conn, keys, items)


def of_author(conn: Connection, keys: SubjectKeys, author: bytes) -> Items:
    """Find what one person said under another's handle (W11)."""
    items = Items()
    values = (keys.handle, author)
    items.turns = _ids(conn, SQL.turns_of_author, values)
    items.candidates = _ids(conn, SQL.candidates_of_author, values)
    _take_sources(conn, SQL.sources_of_author, values, items)
    return _closed(conn, keys, items)


def _by_content(conn: Connection, keys: SubjectKeys, selector: Selector, items: Items) -> None:
    handle = keys.handle
    if selector.kind is SelectorKind.MEMORY:
        wanted = bytes.fromhex(selector.id or "")
        items.memories = _ids(conn, SQL.memory, (handle, wanted))
    else:
        for name, body in conn.execute(SQL.bodies_of_memories, (handle,)).fetchall():
            opened = orjson.loads(keys.open(name, body))
            if _matches(selector, opened["namespace"], opened["key"]):
                items.memories.add(name)
        for name, body in conn.execute(SQL.bodies_of_candidates, (handle,)).fetchall():
            content = load_draft(keys.open(name, body)).content
            if _matches(selector, content.namespace, content.key):
                items.candidates.add(name)
    found = conn.execute(SQL.sources_of_memories, (handle, list(items.memories))).fetchall()
    for _, candidate, body in found:
        items.candidates.add(candidate)
        names = orjson.loads(keys.open(candidate, body))
        if "message_id" in names:
            items.messages.add(names["message_id"])


def _matches(selector: Selector, namespace: str, key: str) -> bool:
    if selector.kind is SelectorKind.NAMESPACE:
        return within(namespace, selector.namespace or "")
    return normalise_key(key) == normalise_key(selector.key or "")


def _by_source(conn: Connection, keys: SubjectKeys, selector: Selector, items: Items) -> None:
    handle = keys.handle
    if selector.kind is SelectorKind.MESSAGE:
        items.turns = {turn_id(keys, selector.message or "")}
        items.messages.add(selector.message or "")
    elif selector.kind is SelectorKind.CONVERSATION:
        values: Any = (handle, conversation_id(keys, selector.conversation or ""))
        items.turns = _ids(conn, SQL.turns_of_conversation, values)
        _take_sources(conn, SQL.sources_of_conversation, values, items)
    else:
        values = {"handle": handle, "since": selector.since, "until": selector.until}
        items.turns = _ids(conn, SQL.turns_of_time, values)
        _take_sources(conn, SQL.sources_of_time, values, items)


def _closed(conn: Connection, keys: SubjectKeys, items: Items) -> Items:
    """Add all that descends from the items, and say which memories survive them."""
    handle, turns = keys.handle, list(items.turns)
    items.candidates |= _ids(conn, SQL.candidates_of_turns, (handle, turns))
    _take_sources(conn, SQL.sources_of_turns, (handle, turns), items)
    for name, body in conn.execute(SQL.messages_of_turns, (handle, turns)).fetchall():
        items.messages.add(orjson.loads(keys.open(name, body))["message_id"])
    if items.touched:
        values = {
            "handle": handle,
            "memories": list(items.touched),
            "candidates": list(items.candidates),
        }
        items.memories |= _ids(conn, SQL.orphaned, values)
        items.touched -= items.memories
    items.controls = _orders_about(conn, keys, items.memories)
    items.candidates |= _ids(conn, SQL.candidates_of_controls, (handle, list(items.controls)))
    items.points = _ids(conn, SQL.points, ([handle], [*items.memories, *items.touched]))
    follow(conn, [handle], items)
    return items


def follow(conn: Connection, handles: Iterable[bytes], items: Items) -> None:
    """Add the copies made from these turns and memories."""
    kinds = {"trace": items.traces, "cached": items.cached, "window": items.windows}
    for kind, child in conn.execute(SQL.copies, (list(handles), [*items.turns, *items.memories])).fetchall():
        kinds[kind].add(child)


def answers_with(conn: Connection, handle: bytes, memories: Iterable[bytes]) -> set[bytes]:
    """Find the kept answers that show any of these memories."""
    found = conn.execute(SQL.copies, ([handle], list(memories))).fetchall()
    return {child for kind, child in found if kind == "cached"}


def _take_sources(conn: Connection, query: str, values: Any, items: Items) -> None:
    for memory, candidate in conn.execute(query, values).fetchall():
        items.candidates.add(candidate)
        items.touched.add(memory)


def _orders_about(conn: Connection, keys: SubjectKeys, memories: set[bytes]) -> set[bytes]:
    """Controls that name a memory; a correction holds its value."""
    found = set()
    if memories:
        for name, body in conn.execute(SQL.bodies_of_controls, (keys.handle,)).fetchall():
            target = orjson.loads(keys.open(name, body)).get("memory")
            if target and bytes.fromhex(target) in memories:
                found.add(name)
    return found


def _ids(conn: Connection, query: str, values: Any) -> set[bytes]:
    return {row[0] for row in conn.execute(query, values).fetchall()}
