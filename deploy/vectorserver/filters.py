"""Filters from JSON to the engine's own, in strict mode: no field without a fitting index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import qdrant_edge as edge

from deploy.vectorserver.errors import bad_request, unsupported

Json = dict[str, Any]
Schema = Mapping[str, str]
"""Which payload fields have an index, and of which type."""

_CLAUSES = ("must", "should", "must_not")


def _match_value(value: Any) -> edge.MatchValue:
    if isinstance(value, bool):
        # The engine's binding takes Python's own True for the number 1, and numpy's for what it is.
        from numpy import bool_

        return edge.MatchValue(bool_(value))  # type: ignore[arg-type]
    return edge.MatchValue(value)


_MATCHERS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "value": (_match_value, ("keyword", "integer", "bool", "uuid")),
    "any": (edge.MatchAny, ("keyword", "integer", "uuid")),
    "except": (edge.MatchExcept, ("keyword", "integer", "uuid")),
    "text": (edge.MatchText, ("text",)),
}
_BOUNDS = ("gte", "gt", "lte", "lt")
_ANY_INDEX = ("keyword", "integer", "float", "bool", "uuid", "datetime", "text", "geo")


def parse(body: Json | None, schema: Schema) -> edge.Filter | None:
    """Translate a filter; nothing and the empty filter are the same: all points.

    Raises:
        QdrantError: a field has no fitting index, or a condition is not one we know.
    """
    if not body:
        return None
    clauses: dict[str, Any] = {name: _conditions(body.get(name), schema) for name in _CLAUSES}
    unknown = body.keys() - {*_CLAUSES, "min_should"}
    if unknown:
        raise unsupported(f"filter clause {', '.join(sorted(unknown))}")
    least = body.get("min_should")
    if least is not None:
        conditions = _conditions(least["conditions"], schema) or []
        clauses["min_should"] = edge.MinShould(conditions, least["min_count"])
    given = {name: value for name, value in clauses.items() if value}
    return edge.Filter(**given) if given else None


def _conditions(value: Any, schema: Schema) -> list[Any] | None:
    if value is None:
        return None
    many = value if isinstance(value, list) else [value]
    return [_condition(one, schema) for one in many]


def _condition(body: Json, schema: Schema) -> Any:
    if "key" in body:
        return _field(body, schema)
    if "has_id" in body:
        return edge.HasIdCondition(set(body["has_id"]))
    if "is_empty" in body:
        return edge.IsEmptyCondition(_indexed(body["is_empty"]["key"], schema, _ANY_INDEX))
    if "is_null" in body:
        return edge.IsNullCondition(_indexed(body["is_null"]["key"], schema, _ANY_INDEX))
    if body.keys() & {*_CLAUSES, "min_should"}:
        return parse(body, schema)
    raise unsupported(f"condition {', '.join(sorted(body))}")


def _field(body: Json, schema: Schema) -> edge.FieldCondition:
    key = body["key"]
    used = {name for name, value in body.items() if value is not None} - {"key"}
    if used == {"match"}:
        (kind, value), *more = body["match"].items()
        if more or kind not in _MATCHERS:
            raise unsupported(f"match {', '.join(sorted(body['match']))}")
        matcher, types = _MATCHERS[kind]
        return edge.FieldCondition(_indexed(key, schema, types), match=matcher(value))
    if used == {"range"}:
        return edge.FieldCondition(key, range=_range(key, body["range"], schema))
    raise unsupported(f"condition on {', '.join(sorted(used)) or 'nothing'}")


def _range(key: str, body: Json, schema: Schema) -> edge.RangeFloat | edge.RangeDateTime:
    bounds = {name: body[name] for name in _BOUNDS if body.get(name) is not None}
    if any(isinstance(value, str) for value in bounds.values()):
        _indexed(key, schema, ("datetime",))
        return edge.RangeDateTime(**bounds)
    _indexed(key, schema, ("integer", "float"))
    return edge.RangeFloat(**bounds)


def _indexed(key: str, schema: Schema, types: tuple[str, ...]) -> str:
    """Refuse a field that strict mode refuses: a forgotten index is an error, not a slow scan."""
    if schema.get(key) not in types:
        raise bad_request(
            f'Index required but not found for "{key}" of one of the following types: '
            f"[{', '.join(types)}]. Help: Create an index for this key or use a different filter."
        )
    return key
