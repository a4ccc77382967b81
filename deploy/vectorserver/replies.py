"""What the server tells about collections, in the shape of Qdrant's own models."""

from __future__ import annotations

from typing import Any

from deploy.vectorserver.collection import VACUUM_MINIMUM, Collection
from deploy.vectorserver.filters import Json

VERSION = "1.20.0"
"""The version of the interface; the client compares it with its own."""

_HNSW = {"m": 0, "ef_construct": 100, "full_scan_threshold": 10_000, "max_indexing_threads": 0}
_OPTIMIZER = {
    "deleted_threshold": 0.0,
    "vacuum_min_vector_number": VACUUM_MINIMUM,
    "default_segment_number": 0,
    "indexing_threshold": 0,
    "flush_interval_sec": 5,
    "max_optimization_threads": 1,
}
_STRICT = {
    "enabled": True,
    "unindexed_filtering_retrieve": False,
    "unindexed_filtering_update": False,
}


def status(collection: Collection) -> str:
    """Tell as Qdrant does whether work is left: `yellow` until a due rebuild is done."""
    return "yellow" if collection.due else "green"


def info(collection: Collection) -> Json:
    """Describe a collection."""
    engine = collection.shard.info()
    return {
        "status": status(collection),
        "optimizer_status": "ok",
        "points_count": engine.points_count,
        "indexed_vectors_count": engine.indexed_vectors_count,
        "segments_count": engine.segments_count,
        "config": _config(collection),
        "payload_schema": {
            field: {"data_type": kind, "points": engine.payload_schema[field].points}
            for field, kind in collection.schema.items()
        },
    }


def _config(collection: Collection) -> Json:
    return {
        "params": {
            "vectors": collection.request["vectors"],
            "shard_number": 1,
            "replication_factor": 1,
            "write_consistency_factor": 1,
            "on_disk_payload": True,
        },
        "hnsw_config": _HNSW,
        "optimizer_config": _OPTIMIZER,
        "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        "strict_mode_config": _STRICT,
    }


def telemetry(collections: dict[str, Collection]) -> Json:
    """Name the segments of every collection: other names are an observed rebuild."""
    return {
        "id": "embedded",
        "app": {"name": "qdrant", "version": VERSION, "startup": "1970-01-01T00:00:00Z"},
        "collections": {
            "number_of_collections": len(collections),
            "collections": [_shards(name, one) for name, one in collections.items()],
        },
    }


def _shards(name: str, collection: Collection) -> Json:
    local: Json = {
        "status": status(collection),
        "total_optimized_points": 0,
        "segments": [_segment(segment, collection) for segment in collection.segments()],
        "optimizations": {
            "status": "ok",
            "optimizations": {"count": collection.rebuilds},
        },
        "async_scorer": False,
    }
    return {
        "id": name,
        "init_time_ms": 0,
        "config": _config(collection),
        "shards": [{"id": 0, "local": local, "remote": [], "replicate_states": {}}],
    }


def _segment(name: str, collection: Collection) -> Json:
    """A segment by its name; the engine tells no numbers of single segments but that a rebuild is due."""
    zeros = (
        *("num_vectors", "num_points", "num_indexed_vectors"),
        *("vectors_size_bytes", "payloads_size_bytes", "ram_usage_bytes", "disk_usage_bytes"),
    )
    about: dict[str, Any] = dict.fromkeys(zeros, 0)
    about["num_deleted_vectors"] = int(collection.due)
    about |= {"uuid": name, "segment_type": "plain", "is_appendable": True}
    about |= {"index_schema": {}, "vector_data": {}}
    empty_config = {"vector_data": {}, "payload_storage_type": {"type": "mmap"}}
    return {
        "info": about,
        "config": empty_config,
        "vector_index_searches": [],
        "payload_field_indices": [],
    }
