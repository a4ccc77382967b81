"""Which changes of an event's JSON Schema break those who already produce or read it.

Full compatibility, since both sides are outside: nothing an old producer sends may be refused, and nothing an old
reader relies on may vanish or change its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_BOUNDS = (
    ("maxLength", 1),
    ("maximum", 1),
    ("maxItems", 1),
    ("minLength", -1),
    ("minimum", -1),
    ("minItems", -1),
)


def breaking(old: Schema, new: Schema) -> list[str]:
    """Readable list of what breaks between two schemas of one event type; empty where compatible."""
    return list(_object(old, new, old, new, ""))


def _object(old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str) -> Iterator[str]:
    had, has = old.get("properties", {}), new.get("properties", {})
    for name in sorted(had.keys() - has.keys()):
        yield f"{path}{name}: removed or renamed"
    for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
        yield f"{path}{name}: newly required"
    if new.get("additionalProperties") is False and old.get("additionalProperties") is not False:
        yield f"{path or 'event '}: unknown fields newly refused"
    for name in sorted(had.keys() & has.keys()):
        yield from _value(had[name], has[name], old_root, new_root, f"{path}{name}")


def _value(old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str) -> Iterator[str]:
    old, new = _resolve(old, old_root), _resolve(new, new_root)
    lost = _types(old, old_root) - _types(new, new_root)
    if lost:
        yield f"{path}: no longer takes {', '.join(sorted(lost))}"
    for was, now in _branches(old, new, old_root, new_root):
        yield from _narrowed(was, now, path)
        yield from _object(was, now, old_root, new_root, f"{path}.")
        if "items" in was and "items" in now:
            yield from _value(was["items"], now["items"], old_root, new_root, f"{path}[]")


def _narrowed(old: Schema, new: Schema, path: str) -> Iterator[str]:
    gone = set(map(str, old.get("enum", ()))) - set(map(str, new.get("enum", ()))) if "enum" in new else set()
    if gone or ("enum" in new and "enum" not in old and "const" not in old and "type" in old):
        yield f"{path}: words removed {sorted(gone)}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{path}: pattern changed"
    for bound, sign in _BOUNDS:
        if bound in new and (bound not in old or sign * new[bound] < sign * old[bound]):
            yield f"{path}: {bound} narrowed"


def _branches(old: Schema, new: Schema, old_root: Schema, new_root: Schema) -> Iterator[tuple[Schema, Schema]]:
    """Pairs of alternatives of one type on both sides (``T | None`` is two alternatives)."""
    has = {_type(option): option for option in _options(new, new_root)}
    for option in _options(old, old_root):
        if _type(option) in has:
            yield option, has[_type(option)]


def _options(schema: Schema, root: Schema) -> list[Schema]:
    """The alternatives of a value, one a type: the words of several enumerations are taken together."""
    merged: dict[str, Schema] = {}
    for option in (_resolve(raw, root) for raw in schema.get("anyOf", [schema])):
        same = merged.setdefault(_type(option), dict(option))
        if "enum" in same and "enum" in option:
            same["enum"] = [*same["enum"], *option["enum"]]
    return list(merged.values())


def _types(schema: Schema, root: Schema) -> set[str]:
    return {_type(option) for option in _options(schema, root)}


def _type(schema: Schema) -> str:
    return str(schema.get("type", "any"))


def _resolve(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    return schema
