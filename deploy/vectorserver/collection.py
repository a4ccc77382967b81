"""One collection: an engine directory, its description, and the rebuild after deletions."""

from __future__ import annotations

import math
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import orjson
import qdrant_edge as edge

from deploy.vectorserver import files
from deploy.vectorserver.errors import bad_request, unsupported
from deploy.vectorserver.filters import Json

VACUUM_MINIMUM = 1
"""A real server refuses less than 100; here the bytes of the smallest collection can go too."""

Kept = tuple[edge.UpdateOperation, bool]
"""An operation, and whether the engine took it."""

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
    (0.4 s at 20,000 points of 384 dimensions), so it waits for a pause and is kept rare; a larger
    engine is rebuilt beside the one that serves (see `aside`), and the file `current` names its directory.
    """

    def __init__(self, folder: Path) -> None:
        """Open what `create` made."""
        self._folder = folder
        self._engine_folder = files.current(folder)
        self.request: Json = orjson.loads((folder / "collection.json").read_bytes())
        files.finish_cut(self._engine_folder)
        self.shard = edge.EdgeShard.load(str(self._engine_folder))
        self.sizes = _sizes(self.request["vectors"])
        self.schema: dict[str, str] = {}
        self._read_schema()
        # A process that was killed may have owed a rebuild; it is cheap where none is due.
        self.owes_rebuild = True
        self.unflushed = False
        self._owed_at = self._deleted_at = -math.inf
        self.rebuilds = 0
        self.rebuild_seconds = 0.0
        self._kept: list[Kept] | None = None
        self._helper: subprocess.Popen[bytes] | None = None

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
        applied = False
        try:
            self.shard.update(operation)
            applied = True
        finally:
            self.unflushed = True
            if deletes:
                self._deleted_at = time.monotonic()
                self._owed_at = self._owed_at if self.owes_rebuild else self._deleted_at
                self.owes_rebuild = True
            if self._kept is not None:
                self._kept.append((operation, applied))

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
            files.cut_log(self._engine_folder)
            self.shard = edge.EdgeShard.load(str(self._engine_folder))
            self.rebuilds += 1
        self.rebuild_seconds = time.monotonic() - started

    @property
    def due(self) -> bool:
        """Whether deleted bytes are left, or about to go."""
        return self.owes_rebuild or self._kept is not None

    def deleting(self, calm: float, most: float) -> bool:
        """Whether something was deleted within ``calm`` seconds, and the oldest owed for less than ``most``."""
        now = time.monotonic()
        return now - self._deleted_at < calm and now - self._owed_at < most

    def count(self) -> int:
        """How many points there are."""
        return int(self.shard.info().points_count)

    def copy(self) -> Path:
        """Copy the engine as it is now to a directory of its own, and keep what is done from here on."""
        self.owes_rebuild = False
        self.flush()
        target = self._folder / f"engine-{time.time_ns()}"
        try:
            shutil.copytree(self._engine_folder, target)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
        self._kept = []
        return target

    def watch(self, helper: subprocess.Popen[bytes]) -> None:
        """Name the process that works on the copy, which ends with the collection."""
        self._helper = helper

    def missed(self) -> list[Kept]:
        """Take what was done since the copy, or since this was last asked."""
        missed, self._kept = self._kept or [], []
        return missed

    def adopt(self, shard: edge.EdgeShard, folder: Path) -> None:
        """Serve from the rebuilt copy, which has everything, and remove the engine that served so far."""
        old, gone = self.shard, self._engine_folder
        files.point_to(self._folder, folder.name)
        self.shard, self._engine_folder, self.unflushed = shard, folder, False
        self.rebuilds += 1
        self._leave()
        self._read_schema()
        old.close()
        shutil.rmtree(gone)

    def abandon(self, folder: Path | None) -> None:
        """Do without a copy, unless it has taken over; nobody works on it any more."""
        self._leave()
        if folder is not None and folder != self._engine_folder:
            shutil.rmtree(folder, ignore_errors=True)

    def _leave(self) -> None:
        if self._helper is not None:
            self._helper.kill()
            self._helper.wait()
        self._helper = self._kept = None

    def close(self) -> None:
        """Flush and let go of the directory."""
        self._leave()
        self.flush()
        self.shard.close()

    def destroy(self) -> None:
        """Remove the collection with all its files."""
        self._leave()
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
