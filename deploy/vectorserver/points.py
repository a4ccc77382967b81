"""Points, selectors and queries between JSON and the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from deploy.vectorserver.errors import bad_request, unsupported
from deploy.vectorserver.filters import Json, Schema, parse

_MODES = {
    "upsert": edge.UpdateMode.Upsert,
    "insert_only": edge.UpdateMode.InsertOnly,
    "update_only": edge.UpdateMode.UpdateOnly,
}


def to_points(body: Json) -> list[tuple[Any, Any, Any]]:
    """Read id, vector and payload of what is upserted, given one by one or column by column."""
    if "points" in body:
        return [(one["id"], one["vector"], one.get("payload")) for one in body["points"]]
    batch = body["batch"]
    payloads = batch.get("payloads") or [None] * len(batch["ids"])
    return list(zip(batch["ids"], batch["vectors"], payloads, strict=True))


def upsert(body: Json, schema: Schema, sizes: dict[str, int]) -> edge.UpdateOperation:
    """Make the operation that inserts or replaces points, all of them or none.

    The engine finds a vector of the wrong size when it has applied the points before it.
    """
    given = to_points(body)
    for number, vector, _ in given:
        if number == 0:
            # Seen with qdrant-edge 0.9.0: after a rebuild and a reload this one is gone or back.
            raise unsupported("a point with the number 0 as its id")
        named = vector if isinstance(vector, dict) else {"": vector}
        for name, numbers in named.items():
            if len(numbers) != sizes.get(name):
                raise bad_request(
                    f"Wrong input: Vector dimension error: expected dim: {sizes.get(name)}, got {len(numbers)}"
                )
    mode = _MODES[body.get("update_mode") or "upsert"]
    condition = parse(body.get("update_filter"), schema)
    return edge.UpdateOperation.upsert_points([edge.Point(*one) for one in given], condition, mode)


def delete(body: Json, schema: Schema) -> edge.UpdateOperation:
    """Make the operation that deletes by ids or by filter, never by an empty filter."""
    if body.get("points") is not None:
        return edge.UpdateOperation.delete_points(body["points"])
    return edge.UpdateOperation.delete_points_by_filter(_selection(body, schema))


def set_payload(body: Json, schema: Schema) -> edge.UpdateOperation:
    """Make the operation that changes some payload fields."""
    payload, key = body["payload"], body.get("key")
    if body.get("points") is not None:
        return edge.UpdateOperation.set_payload(body["points"], payload, key)
    return edge.UpdateOperation.set_payload_by_filter(_selection(body, schema), payload, key)


def overwrite_payload(body: Json, schema: Schema) -> edge.UpdateOperation:
    """Make the operation that replaces the whole payload."""
    payload, key = body["payload"], body.get("key")
    if body.get("points") is not None:
        return edge.UpdateOperation.overwrite_payload(body["points"], payload, key)
    selection = _selection(body, schema)
    return edge.UpdateOperation.overwrite_payload_by_filter(selection, payload, key)


def delete_payload(body: Json, schema: Schema) -> edge.UpdateOperation:
    """Make the operation that removes payload fields."""
    if body.get("points") is not None:
        return edge.UpdateOperation.delete_payload(body["points"], body["keys"])
    return edge.UpdateOperation.delete_payload_by_filter(_selection(body, schema), body["keys"])


def _selection(body: Json, schema: Schema) -> edge.Filter:
    chosen = parse(body.get("filter"), schema)
    if chosen is None:
        # The engine would take it for every point there is.
        raise bad_request("an empty filter selects every point; name what is meant")
    return chosen


def query(body: Json, schema: Schema) -> edge.QueryRequest:
    """Make a search by vector and filter, or by filter alone."""
    for name in ("prefetch", "lookup_from"):
        if body.get(name):
            raise unsupported(f"query with {name}")
    return edge.QueryRequest(
        limit=body.get("limit") or 10,
        offset=body.get("offset") or 0,
        query=_nearest(body.get("query"), body.get("using")),
        filter=parse(body.get("filter"), schema),
        with_payload=payload_selector(body.get("with_payload"), default=False),
        with_vector=body.get("with_vector") or False,
        score_threshold=body.get("score_threshold"),
        params=_params(body.get("params")),
    )


def _nearest(value: Any, using: str | None) -> edge.Query | None:
    if value is None:
        return None
    vector = value.get("nearest") if isinstance(value, dict) and len(value) == 1 else value
    if not isinstance(vector, list):
        raise unsupported("query other than by one dense vector")
    return edge.Query.Nearest(vector, using)


def _params(body: Json | None) -> edge.SearchParams | None:
    if not body:
        return None
    known = {name: body[name] for name in ("hnsw_ef", "exact") if body.get(name) is not None}
    return edge.SearchParams(**known)


def scroll(body: Json, schema: Schema) -> edge.ScrollRequest:
    """Make a walk over points in the order of their ids."""
    if body.get("order_by"):
        raise unsupported("scroll with order_by")
    return edge.ScrollRequest(
        offset=body.get("offset"),
        limit=body.get("limit") or 10,
        filter=parse(body.get("filter"), schema),
        with_payload=payload_selector(body.get("with_payload"), default=True),
        with_vector=body.get("with_vector") or False,
    )


def payload_selector(value: Any, *, default: bool) -> Any:
    """Read what part of the payload is wanted."""
    if value is None:
        return default
    if isinstance(value, dict):
        if value.get("exclude"):
            return edge.PayloadSelector.Exclude(value["exclude"])
        return edge.PayloadSelector.Include(value.get("include") or [])
    return value


def scored(points: Sequence[edge.ScoredPoint]) -> list[Json]:
    """Write what a search found."""
    return [
        {
            "id": point.id,
            "version": point.version,
            "score": point.score,
            "payload": point.payload,
            "vector": point.vector,
        }
        for point in points
    ]


def records(points: Sequence[edge.Record]) -> list[Json]:
    """Write points without a score."""
    return [{"id": point.id, "payload": point.payload, "vector": point.vector} for point in points]
