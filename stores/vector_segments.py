"""What telemetry tells of a collection's segments: where deleted points still lie, and whether they will go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

EMBEDDED = "embedded"
"""The loopback server's name for itself; it cuts its write-ahead log at each rebuild."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the segments of a collection.

    Attributes:
        names: every segment that there is.
        dirty: those that hold points which were deleted.
        stuck: those of the dirty ones that the server will not rebuild, being too small.
        busy: a rebuild is due or under way, during which a segment tells less than it holds.
        hidden: some of the collection lies where this server cannot see it.
        embedded: it is the loopback server that answers.
    """

    names: frozenset[str]
    dirty: frozenset[str]
    stuck: frozenset[str]
    busy: bool
    hidden: bool
    embedded: bool


def look(told: Mapping[str, Any], collection: str) -> Look:
    """Read the answer of ``/telemetry`` at its highest level of detail."""
    found = (told.get("collections") or {}).get("collections") or []
    shards = [shard for one in found if one.get("id") == collection for shard in one.get("shards") or []]
    infos = [segment["info"] for segment in _segments(shards)]
    smallest = max((_vacuum_minimum(one) for one in found if one.get("id") == collection), default=0)
    dirty = [info for info in infos if info["num_deleted_vectors"]]
    return Look(
        names=frozenset(str(info["uuid"]) for info in infos),
        dirty=frozenset(str(info["uuid"]) for info in dirty),
        stuck=frozenset(
            str(info["uuid"]) for info in dirty if info["num_points"] + info["num_deleted_vectors"] < smallest
        ),
        busy=any(_word((shard.get("local") or {}).get("status")) != "green" for shard in shards),
        hidden=not shards or any(shard.get("remote") or not shard.get("local") for shard in shards),
        embedded=told.get("id") == EMBEDDED,
    )


def _segments(shards: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for shard in shards:
        yield from (shard.get("local") or {}).get("segments") or []


def _vacuum_minimum(one: Mapping[str, Any]) -> int:
    optimizers = (one.get("config") or {}).get("optimizer_config") or {}
    return int(optimizers.get("vacuum_min_vector_number") or 0)


def _word(status: Any) -> str:
    return str(getattr(status, "value", status))
