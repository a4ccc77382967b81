"""What telemetry tells of a collection's segments: where deleted points still lie, and whether they will go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

EMBEDDED = "embedded"
"""The loopback server's name for itself; it cuts its write-ahead log at each rebuild."""

_FLUSHES = 3
"""A server cuts its log at a flush, as far as the one before had come by then; one more to be sure."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the segments of a collection.

    Attributes:
        names: every segment that there is.
        dirty: those that hold points which were deleted.
        stuck: those of the dirty ones that the server will not rebuild, being too small.
        busy: a rebuild is due or under way, during which a segment tells less than it holds, or one has failed.
        hidden: some of the collection lies where this server cannot see it.
        embedded: it is the loopback server that answers.
        log_seconds: after so long a log that was turned over has been cut, where nothing has failed.
    """

    names: frozenset[str]
    dirty: frozenset[str]
    stuck: frozenset[str]
    busy: bool
    hidden: bool
    embedded: bool
    log_seconds: float = 0.0


def look(told: Mapping[str, Any], collection: str) -> Look:
    """Read the answer of ``/telemetry`` at its highest level of detail."""
    found = (told.get("collections") or {}).get("collections") or []
    one: Mapping[str, Any] = next((one for one in found if one.get("id") == collection), {})
    optimizers = (one.get("config") or {}).get("optimizer_config") or {}
    shards = one.get("shards") or []
    infos = [segment["info"] for segment in _segments(shards)]
    smallest = int(optimizers.get("vacuum_min_vector_number") or 0)
    dirty = [info for info in infos if info["num_deleted_vectors"]]
    return Look(
        names=frozenset(str(info["uuid"]) for info in infos),
        dirty=frozenset(str(info["uuid"]) for info in dirty),
        stuck=frozenset(
            str(info["uuid"]) for info in dirty if info["num_points"] + info["num_deleted_vectors"] < smallest
        ),
        busy=bool(one.get("transfers")) or not all(_at_rest(shard.get("local") or {}) for shard in shards),
        hidden=not shards or any(shard.get("remote") or not shard.get("local") for shard in shards),
        embedded=told.get("id") == EMBEDDED,
        log_seconds=_FLUSHES * float(optimizers.get("flush_interval_sec") or 0),
    )


def _segments(shards: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for shard in shards:
        yield from (shard.get("local") or {}).get("segments") or []


def _at_rest(local: Mapping[str, Any]) -> bool:
    """True where nothing is left to be done and nothing has failed, a flush among it."""
    return local.get("status") == "green" and (local.get("optimizations") or {}).get("status", "ok") == "ok"
