"""One collection: an engine directory, its description, and the rebuild after deletions."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from typing import Any

import orjson
import qdrant_edge as edge

from deploy.vectorserver.errors import bad_request, unsupported
from deploy.vectorserver.filters import Json

VACUUM_MINIMUM = 1
"""A real server refuses less than 100; here the bytes of the smallest collection can go too."""

_DISTANCES = {
    "Cosine": edge.Distance.Cosine,
    "Dot": edge.Distance.Dot,
    "Euclid": edge.Distance.Euclid,
    "Manhattan": edge.Distance.Manhattan,
}
_TYPES = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "bool": edge.PayloadSchemaType.Bool,
    "datetime": edge.PayloadSchemaType.Datetime,
    "uuid": edge.PayloadSchemaType.Uuid,
    "text": edge.PayloadSchemaType.Text,
}


class Collection:
    """An open engine directory. The engine holds Python's lock, so all calls are one after another.

    After deletions the segments are rebuilt and the write-ahead log is cut, so that no file holds
    what was deleted. The engine does this in one call during which nothing else is answered
    (0.4 s at 20,000 points of 384 dimensions), so it waits for a pause and is kept rare.
    """

    def __init__(self, folder: Path) -> None:
        """Open what `create` made."""
        self._folder = folder
        self._engine_folder = folder / "engine"
        self.request: Json = orjson.loads((folder / "collection.json").read_bytes())
        _finish_cut(self._engine_folder)
        self.shard = edge.EdgeShard.load(str(self._engine_folder))
        self.sizes = _sizes(self.request["vectors"])
        self.schema: dict[str, str] = {}
        self._read_schema()
        # A process that was killed may have owed a rebuild; it is cheap where none is due.
        self.owes_rebuild = True
        self.unflushed = False
        self.rebuilds = 0
        self.rebuild_seconds = 0.0

    @classmethod
    def create(cls, folder: Path, request: Json) -> Collection:
        """Make the directory, complete or not at all, and open it."""
        config = _engine_config(request)
        unfinished = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / "engine").mkdir(parents=True)
        edge.EdgeShard.create(str(unfinished / "engine"), config).close()
        (unfinished / "collection.json").write_bytes(orjson.dumps(request))
        unfinished.rename(folder)
        return cls(folder)

    def update(self, operation: edge.UpdateOperation, *, deletes: bool = False) -> None:
        """Apply an operation; it is in the write-ahead log when this returns."""
        try:
            self.shard.update(operation)
        finally:
            self.unflushed = True
            self.owes_rebuild |= deletes

    def create_index(self, field: str, schema: Any) -> None:
        """Index a payload field."""
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind not in _TYPES:
            raise unsupported(f"payload index of type {kind}")
        params: Any = _TYPES[kind]
        if isinstance(schema, dict) and kind == "keyword" and schema.get("is_tenant"):
            params = edge.KeywordIndexParams(is_tenant=True)
        self.update(edge.UpdateOperation.create_field_index(field, params))
        self.shard.flush()
        self._read_schema()

    def delete_index(self, field: str) -> None:
        """Drop the index of a payload field."""
        self.update(edge.UpdateOperation.delete_field_index(field))
        self.shard.flush()
        self._read_schema()

    def _read_schema(self) -> None:
        names = {kind: name for name, kind in _TYPES.items()}
        found = self.shard.info().payload_schema
        self.schema = {field: names[info.data_type] for field, info in found.items()}

    def segments(self) -> list[str]:
        """The names of the engine's segments; a rebuild makes new ones."""
        folder = self._engine_folder / "segments"
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))

    def flush(self) -> None:
        """Bring segments up to date with the write-ahead log."""
        self.shard.flush()
        self.unflushed = False

    def rebuild(self) -> None:
        """Leave no deleted byte in any file."""
        started = time.monotonic()
        self.owes_rebuild = False
        self.flush()
        if self.shard.optimize():
            self.flush()
            self.shard.close()
            _cut_log(self._engine_folder)
            self.shard = edge.EdgeShard.load(str(self._engine_folder))
            self.rebuilds += 1
        self.rebuild_seconds = time.monotonic() - started

    def close(self) -> None:
        """Flush and let go of the directory."""
        self.flush()
        self.shard.close()

    def destroy(self) -> None:
        """Remove the collection with all its files."""
        self.shard.close()
        gone = self._folder.with_name(f".{self._folder.name}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        self._folder.rename(gone)
        shutil.rmtree(gone)


def _engine_config(request: Json) -> edge.EdgeConfig:
    for name in ("sparse_vectors", "quantization_config"):
        if request.get(name):
            raise unsupported(f"collection with {name}")
    vectors = request.get("vectors") or {}
    params = _vector(vectors) if "size" in vectors else {k: _vector(v) for k, v in vectors.items()}
    if not params:
        raise bad_request("a collection needs vectors")
    return edge.EdgeConfig(
        vectors=params,
        # Every query of ours is filtered down to one subject, where a scan is exact and faster
        # than a graph; and building one would stop all answers for seconds.
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        optimizers=edge.EdgeOptimizersConfig(
            deleted_threshold=0.0,
            vacuum_min_vector_number=VACUUM_MINIMUM,
            indexing_threshold=0,
        ),
        wal_enabled=True,
    )


def _vector(body: Json) -> edge.EdgeVectorParams:
    if body.get("multivector_config") or body.get("quantization_config"):
        raise unsupported("multivectors and quantization")
    if body.get("distance") not in _DISTANCES:
        raise bad_request(f"unknown distance {body.get('distance')}")
    return edge.EdgeVectorParams(size=body["size"], distance=_DISTANCES[body["distance"]])


def _sizes(vectors: Json) -> dict[str, int]:
    """Give the size of each vector by its name; the only one of many collections has none."""
    if "size" in vectors:
        return {"": vectors["size"]}
    return {name: one["size"] for name, one in vectors.items()}


def _cut_log(folder: Path) -> None:
    """Replace a closed engine's write-ahead log, all of which is flushed, by one that goes on from it.

    An empty log would count from nought again, and the engine passes over an operation whose number
    is below that of the point it meets: deletes by filter and upserts would be lost without a word.
    The old log is moved aside first: a kill between two removed files would leave half of one.
    """
    _begin_log(folder)
    (folder / "wal").rename(folder / "wal.gone")
    _finish_cut(folder)


def _begin_log(folder: Path) -> None:
    """Lay ready a log of one harmless operation; a closed part's name is the number of its first."""
    start = time.time_ns() // 1000
    with contextlib.suppress(FileNotFoundError):
        # The clock may have been set back.
        known = orjson.loads((folder / "wal" / "first-index").read_bytes())["ack_index"]
        start = max(start, known + 1_000_000)
    scratch, ready = folder / "scratch", folder / "wal.next"
    for path in (scratch, ready):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot), wal_enabled=True)
    engine = edge.EdgeShard.create(str(scratch), config)
    engine.update(edge.UpdateOperation.delete_points([0]))
    engine.close()
    (scratch / "wal" / "open-1").rename(ready / f"closed-{start}")


def _finish_cut(folder: Path) -> None:
    if (folder / "wal.next").exists() and not (folder / "wal").exists():
        (folder / "wal.next").rename(folder / "wal")
    for name in ("wal.gone", "wal.next", "scratch", "temp_segments"):
        shutil.rmtree(folder / name, ignore_errors=True)
