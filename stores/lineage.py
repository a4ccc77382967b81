"""The lineage of a memory: what it came from, down to turns and controls, and what was made from it.

Edges lie in ``lineage``, those of copies in Redis too (`stores.copies`); artefacts of outside owners have theirs in
``derivations``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from stores.database import Connection, translate
from stores.sealing import Lookup, SubjectKeys
from stores.sql import load

_SQL = load("stores", "lineage.sql")

KINDS = ("turn", "control", "candidate", "decision", "memory", "vector", "window", "cached", "trace", "artefact")
"""Kinds of nodes, from sources to what is derived."""
ROOTS = ("turn", "control")
"""Kinds that need no parent: what a person or a platform has said."""


class Key(NamedTuple):
    """A node's name; a decision has the id of its candidate."""

    kind: str
    id: bytes


@dataclass(frozen=True, slots=True)
class Node:
    """One thing.

    Attributes:
        at: when it came about; None where nobody wrote that down, or its row is past its retention.
        who: reference of the person it is attributed to.
        about: type, status and the like; no content.
        shown: content, where it was asked for and opens.
    """

    key: Key
    at: datetime | None = None
    who: bytes | None = None
    about: str = ""
    shown: str | None = None


@dataclass(slots=True)
class Graph:
    """Nodes and edges around one memory; an edge leads from a child to its parent."""

    start: Key
    nodes: dict[Key, Node] = field(default_factory=dict)
    edges: set[tuple[Key, Key]] = field(default_factory=set)

    def parents(self, key: Key) -> list[Key]:
        """What a node came from, in order of kind and time."""
        return self._sorted(parent for child, parent in self.edges if child == key)

    def children(self, key: Key) -> list[Key]:
        """What was made from a node."""
        return self._sorted(child for child, parent in self.edges if parent == key)

    def roots(self, key: Key) -> set[Key]:
        """Where the walk upwards ends."""
        parents = self.parents(key)
        return {root for parent in parents for root in self.roots(parent)} if parents else {key}

    def _sorted(self, keys: Iterable[Key]) -> list[Key]:
        return sorted(set(keys), key=lambda key: (KINDS.index(key.kind), str(self.nodes[key].at), key.id))


@dataclass(frozen=True, slots=True)
class Opener:
    """The keys by which content is shown: the person's own, and the tenant's for names of artefacts."""

    keys: SubjectKeys
    lookup: Lookup


def whose(conn: Connection, tenant: bytes, memory: bytes) -> tuple[bytes, bytes] | None:
    """Give handle and reference of the person a memory is about; None where the tenant has no such memory now."""
    with translate():
        row = conn.execute(_SQL.whose, {"id": memory, "tenant": tenant}).fetchone()
    return (row[0], row[1]) if row else None


def graph(conn: Connection, handle: bytes, memory: bytes, opener: Opener | None = None) -> Graph:
    """Walk up and down from a memory.

    Args:
        conn: to the truth.
        handle: of the memory's person, as `whose` gave it.
        memory: its id.
        opener: shows content too.
    """
    found = Graph(Key("memory", memory))
    with translate():
        rows = conn.execute(_SQL.edges, {"id": memory, "handle": handle}).fetchall()
        found.edges = {(Key(*row[:2]), Key(*row[2:])) for row in rows}
        keys = {found.start, *(key for edge in found.edges for key in edge)}
        for kind in KINDS:
            ids = [key.id for key in keys if key.kind == kind]
            if ids and kind in _TABLES:
                for row in conn.execute(getattr(_SQL, _TABLES[kind]), (ids,)).fetchall():
                    found.nodes[Key(kind, row[0])] = _node(kind, row, opener)
        if opener is not None:
            _quote(conn, found, handle, opener)
    for key in keys - set(found.nodes):
        found.nodes[key] = Node(key, about=ELSEWHERE.get(key.kind, "past its retention"))
    return found


ELSEWHERE = {"window": "session window", "cached": "kept answer"}
"""Copies that have no row here; what they are called."""
_TABLES = {
    "turn": "turns",
    "control": "controls",
    "candidate": "candidates",
    "decision": "decisions",
    "memory": "memories",
    "vector": "vectors",
    "trace": "traces",
    "artefact": "artefacts",
}


def _node(kind: str, row: tuple[Any, ...], opener: Opener | None) -> Node:
    name, at, who, about, body = row
    shown = _shown(kind, name, body, opener) if opener is not None and body is not None else None
    return Node(Key(kind, name), at, who, about, shown)


def _shown(kind: str, name: bytes, body: bytes, opener: Opener) -> str | None:
    if kind == "artefact":
        return str(orjson.loads(opener.lookup.open(name, body))["artefact"])
    document = orjson.loads(opener.keys.open(name, body))
    if kind == "turn":
        # The text lies in segments, as it was screened.
        return " ".join(part["text"] for part in document.get("segments", ())) or document.get("text")
    if kind == "memory":
        return f"{document['key']}: {document['value']}"
    return None


def _quote(conn: Connection, found: Graph, handle: bytes, opener: Opener) -> None:
    for candidate, body in conn.execute(_SQL.quotes, {"id": found.start.id, "handle": handle}).fetchall():
        key = Key("candidate", candidate)
        quote = orjson.loads(opener.keys.open(candidate, body)).get("quote")
        if key in found.nodes and quote:
            node = found.nodes[key]
            found.nodes[key] = Node(key, node.at, node.who, node.about, quote)
