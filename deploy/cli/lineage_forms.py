"""A lineage as a tree of text, as PROV-JSON (W3C) and in Graphviz' language. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from stores.lineage import Graph, Key, Node

# The step that makes a thing, and the software that answers for it; what people do has no step of ours.
_STEPS = {
    "candidate": ("extract", "extractor"),
    "decision": ("decide", "gate"),
    "memory": ("resolve", "resolver"),
    "vector": ("index", "indexer"),
    "window": ("gather", "sessions"),
    "cached": ("recall", "recall"),
    "trace": ("recall", "recall"),
    "artefact": ("derive", "owner"),
}


# What may hang on a turn directly; it is shown where it hangs.
_BESIDE = ("window", "artefact")


def tree(found: Graph) -> str:
    """Give the graph as a tree of text, a line a thing: sources first, then what was made. No line is broken."""
    lines = [_line(found.nodes[found.start]), "├── from"]
    lines += _grown(found, found.start, "│   ", upwards=True)
    lines.append("└── made from it")
    lines += list(_grown(found, found.start, "    ", upwards=False)) or ["    └── nothing"]
    return "\n".join(lines)


def _grown(found: Graph, key: Key, indent: str, *, upwards: bool) -> Iterator[str]:
    near = found.parents(key) if upwards else found.children(key)
    beside = [child for child in found.children(key) if upwards and key != found.start and child.kind in _BESIDE]
    for place, one in enumerate([*near, *beside], 1):
        last = place == len(near) + len(beside)
        yield f"{indent}{'└' if last else '├'}── {_line(found.nodes[one])}"
        if one not in beside:
            yield from _grown(found, one, indent + ("    " if last else "│   "), upwards=upwards)


def _line(node: Node) -> str:
    when = f"  {node.at:%Y-%m-%d %H:%M}" if node.at else ""
    shown = f"  “{node.shown}”" if node.shown else ""
    return f"{node.key.kind} {node.key.id.hex()}  {node.about}{when}{shown}"


def prov(found: Graph) -> dict[str, Any]:
    """Give the graph in PROV-JSON: things are entities, steps activities, people and software agents."""
    document: dict[str, Any] = {
        "prefix": {"obelus": "urn:obelus:"},
        "entity": {_name(node.key): _entity(node) for node in _in_order(found)},
        "activity": {},
        "agent": {},
        "wasGeneratedBy": {},
        "wasDerivedFrom": {},
        "wasAssociatedWith": {},
        "wasAttributedTo": {},
    }
    for node in _in_order(found):
        _generation(document, node)
        if node.who is not None:
            _attribution(document, node, f"obelus:person/{node.who.hex()}", "prov:Person")
    for number, (child, parent) in enumerate(sorted(found.edges), 1):
        edge = {"prov:generatedEntity": _name(child), "prov:usedEntity": _name(parent)}
        if child.kind in _STEPS:
            edge["prov:activity"] = _activity(child)
        document["wasDerivedFrom"][f"_:d{number}"] = edge
    return document


def _in_order(found: Graph) -> list[Node]:
    return [found.nodes[key] for key in sorted(found.nodes)]


def _name(key: Key) -> str:
    return f"obelus:{key.kind}/{key.id.hex()}"


def _activity(key: Key) -> str:
    return f"obelus:{_STEPS[key.kind][0]}/{key.id.hex()}"


def _entity(node: Node) -> dict[str, str]:
    body = {"prov:type": f"obelus:{node.key.kind}", "prov:label": node.about}
    if node.at is not None:
        body["prov:generatedAtTime"] = node.at.isoformat()
    if node.shown is not None:
        body["prov:value"] = node.shown
    return body


def _generation(document: dict[str, Any], node: Node) -> None:
    if node.key.kind not in _STEPS:
        return
    step, software = _STEPS[node.key.kind]
    activity, number = _activity(node.key), len(document["wasGeneratedBy"]) + 1
    document["activity"][activity] = {"prov:type": f"obelus:{step}"}
    made = {"prov:entity": _name(node.key), "prov:activity": activity}
    if node.at is not None:
        made["prov:time"] = node.at.isoformat()
    document["wasGeneratedBy"][f"_:g{number}"] = made
    # Which owner made an artefact stands behind "of" in its label; owners are no software of ours.
    agent = f"obelus:owner/{node.about.removeprefix('of ')}" if software == "owner" else f"obelus:{software}"
    kind = "prov:Organization" if software == "owner" else "prov:SoftwareAgent"
    document["agent"][agent] = {"prov:type": kind}
    document["wasAssociatedWith"][f"_:a{number}"] = {"prov:activity": activity, "prov:agent": agent}
    if node.who is None:
        _attribution(document, node, agent, kind)


def _attribution(document: dict[str, Any], node: Node, agent: str, kind: str) -> None:
    number = len(document["wasAttributedTo"]) + 1
    document["agent"][agent] = {"prov:type": kind}
    document["wasAttributedTo"][f"_:t{number}"] = {"prov:entity": _name(node.key), "prov:agent": agent}


def dot(found: Graph) -> str:
    """Give the graph for Graphviz; arrows lead from what was there first to what was made from it."""
    lines = ["digraph lineage {", "  rankdir=LR;", "  node [shape=box];"]
    for node in _in_order(found):
        words = (node.key.kind, node.key.id.hex()[:8], node.about, node.shown or "")
        label = "\\n".join(json.dumps(word, ensure_ascii=False)[1:-1] for word in words if word)
        style = ", style=bold" if node.key == found.start else ""
        lines.append(f'  "{_name(node.key)}" [label="{label}"{style}];')
    lines += [f'  "{_name(parent)}" -> "{_name(child)}";' for child, parent in sorted(found.edges)]
    return "\n".join([*lines, "}"])
