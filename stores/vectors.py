"""The vector index: Qdrant over REST, through its own client, without retries of ours or its."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from schemas.errors import ConfigurationError
from schemas.settings import Settings
from schemas.words import MemoryStatus
from stores.qdrant_rest import ApiClient, SyncApis, UnexpectedResponse, models
from stores.vector_calls import (
    HNSW,
    OPTIMIZERS,
    STRICT,
    WAL,
    address,
    already_there,
    done,
    given,
    index_params,
    translated,
)
from stores.vector_points import FIELDS, Hit, Indexed, Point, read_id, read_point, spell_id
from stores.vector_segments import Look, look

Matrix = NDArray[np.float32]

COLLECTION = "memories"
TIMEOUT_SECONDS = 10
"""After this the outcome of a call is unknown; an intent's lease must last longer."""

_PAGE = 1000
LARGEST_LOG_MB = 4
"""Where one part of the log may be larger, turning it over would cost more than it is worth."""
# An id takes 17 bytes of the log.
_IDS_IN_A_CALL, _CALLS_FOR_A_MB = 16_000, 4


class VectorIndex:
    """One collection; one point a version of an active memory.

    Every call may raise PartUnavailable (nothing was done), UnknownOutcome (observe, then repeat),
    TransientError, or ConfigurationError where the server refuses it.
    """

    def __init__(self, settings: Settings, *, collection: str = COLLECTION, timeout: int = TIMEOUT_SECONDS) -> None:
        """Take the address; nothing is sent yet. ``timeout`` is in seconds."""
        settings.require("qdrant")
        # The client's HTTP library writes a line for every request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._name = collection
        self._client: SyncApis[ApiClient] = SyncApis(address(settings.qdrant), timeout=timeout, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # Set-up

    def ensure(self, dim: int) -> None:
        """Make the collection and its payload indexes where they are missing, then check them.

        Raises:
            ConfigurationError: it exists with vectors of another length, without an index on a
                filtered field, or without strict mode.
        """
        with translated():
            if not given(self._client.collections_api.collection_exists(self._name).result).exists:
                self._create(dim)
            present = self._info().payload_schema
            for field in FIELDS:
                if field not in present:
                    wanted = models.CreateFieldIndex(field_name=field, field_schema=index_params(field))
                    self._client.indexes_api.create_field_index(self._name, wait=True, create_field_index=wanted)
        self.check(dim)

    def check(self, dim: int) -> None:
        """Refuse a collection in which a filter would be slow or a vector would not fit."""
        with translated():
            info = self._info()
        vectors = info.config.params.vectors
        if not isinstance(vectors, models.VectorParams) or vectors.size != dim:
            raise ConfigurationError(f"the index {self._name} holds vectors of another length than {dim}")
        indexed = {field: kind.data_type.value for field, kind in info.payload_schema.items()}
        if wrong := sorted(field for field, kind in FIELDS.items() if indexed.get(field) != kind):
            raise ConfigurationError(f"the index {self._name} has no payload index on {', '.join(wrong)}")
        if not (info.config.strict_mode_config and info.config.strict_mode_config.enabled):
            raise ConfigurationError(f"the index {self._name} is not in strict mode")

    def drop(self) -> None:
        """Remove the collection; it can be made again from PostgreSQL."""
        with translated():
            self._client.collections_api.delete_collection(self._name)

    def _info(self) -> models.CollectionInfo:
        return given(self._client.collections_api.get_collection(self._name).result)

    def _create(self, dim: int) -> None:
        wanted = models.CreateCollection(
            vectors=models.VectorParams(size=dim, distance=models.Distance.COSINE),
            hnsw_config=HNSW,
            optimizers_config=OPTIMIZERS,
            wal_config=WAL,
            strict_mode_config=STRICT,
        )
        try:
            self._client.collections_api.create_collection(self._name, create_collection=wanted)
        except UnexpectedResponse as error:
            if not already_there(error):
                raise

    # Writing

    def upsert(self, points: Sequence[Point], vectors: Matrix) -> None:
        """Write points with their (turned) vectors, row by row, in one call; applied when this returns."""
        if not points:
            return
        batch = {
            "ids": [spell_id(point.id) for point in points],
            "vectors": np.ascontiguousarray(vectors, np.float32),
            "payloads": [point.payload() for point in points],
        }
        # The client's own models walk every number twice; it takes encoded bytes as they are.
        body = orjson.dumps({"batch": batch}, option=orjson.OPT_SERIALIZE_NUMPY)
        with translated():
            answer = self._client.points_api.upsert_points(
                self._name, wait=True, point_insert_operations=cast(Any, body)
            )
        done(answer.result)

    def delete(self, ids: Collection[bytes]) -> None:
        """Remove points by id in one call, whether they exist or not."""
        if ids:
            self._delete({"points": [spell_id(point) for point in ids]})

    def delete_scope(self, handle: bytes, epoch: int | None = None, also: Collection[bytes] = ()) -> None:
        """Remove every point of a handle, of one epoch or of all, and ``also`` these by their ids, in one call."""
        scope = _must(_of_handle(handle, epoch))
        if also:
            scope = {"should": [{"has_id": [spell_id(point) for point in also]}, scope]}
        self._delete({"filter": scope})

    def _delete(self, selector: dict[str, Any]) -> None:
        body = orjson.dumps(selector)
        with translated():
            answer = self._client.points_api.delete_points(self._name, wait=True, points_selector=cast(Any, body))
        done(answer.result)

    # Reading

    def search(
        self,
        tenant: bytes,
        handle: bytes,
        vector: Matrix,
        *,
        limit: int,
        namespaces: Collection[bytes] | None = None,
        types: Collection[str] | None = None,
        sensitivities: Collection[str] | None = None,
        visibilities: Collection[str] | None = None,
        now: datetime | None = None,
    ) -> list[Hit]:
        """Find what is near, most similar first, among one subject's active, unexpired memories.

        Args:
            tenant: ref of the tenant.
            handle: handle of the subject.
            vector: the query, turned by the handle's key, shape (dim,).
            limit: how many at most.
            namespaces: keyed hashes of allowed prefixes; None allows all, an empty list none.
            types: allowed memory types, likewise.
            sensitivities: allowed sensitivities, likewise.
            visibilities: allowed visibilities, likewise.
            now: what is expired at this time is left out; by default the clock's.
        """
        if not tenant or not handle:
            raise ValueError("a search needs tenant and handle")
        allowed = {
            "namespaces": None if namespaces is None else [prefix.hex() for prefix in namespaces],
            "type": types,
            "sensitivity": sensitivities,
            "visibility": visibilities,
        }
        if any(words is not None and not words for words in allowed.values()):
            return []
        must = [
            *_of_handle(handle, None),
            _match("tenant", tenant.hex()),
            _match("status", MemoryStatus.ACTIVE.value),
            {"key": "expires_at", "range": {"gt": int((now or datetime.now(UTC)).timestamp())}},
            *(_any(field, words) for field, words in allowed.items() if words is not None),
        ]
        query = {
            "query": {"nearest": np.ascontiguousarray(vector, np.float32)},
            "filter": _must(must),
            "limit": limit,
            "with_payload": ["memory", "version"],
        }
        return self._search(orjson.dumps(query, option=orjson.OPT_SERIALIZE_NUMPY))

    def _search(self, body: bytes) -> list[Hit]:
        with translated():
            answer = self._client.search_api.query_points(self._name, query_request=cast(Any, body))
        found = given(answer.result).points
        return [
            Hit(bytes.fromhex(point.payload["memory"]), int(point.payload["version"]), point.score)
            for point in found
            if point.payload
        ]

    def count(self, handle: bytes | None = None, epoch: int | None = None) -> int:
        """Count points exactly: those of a handle, or all where no handle is given."""
        scope = {} if handle is None else {"filter": _must(_of_handle(handle, epoch))}
        body = orjson.dumps(scope | {"exact": True})
        with translated():
            return given(self._client.points_api.count_points(self._name, count_request=cast(Any, body)).result).count

    def existing(self, ids: Collection[bytes]) -> set[bytes]:
        """Return those of the ids that the index holds."""
        if not ids:
            return set()
        wanted = models.PointRequest(ids=[spell_id(point) for point in ids], with_payload=False, with_vector=False)
        with translated():
            answer = self._client.points_api.get_points(self._name, point_request=wanted)
        return {read_id(point.id) for point in given(answer.result)}

    def scroll(self, handle: bytes | None = None) -> Iterator[list[Indexed]]:
        """Walk over all points, or all of a handle, in pages; a point that was not there at the start may be missed."""
        wanted: dict[str, Any] = {
            "limit": _PAGE,
            "with_payload": ["memory", "version", "handle", "epoch"],
            "with_vector": False,
        }
        if handle is not None:
            wanted["filter"] = _must(_of_handle(handle, None))
        while True:
            with translated():
                answer = self._client.points_api.scroll_points(
                    self._name, scroll_request=cast(Any, orjson.dumps(wanted))
                )
            page = given(answer.result)
            if page.points:
                yield [read_point(record.id, record.payload) for record in page.points]
            if page.next_page_offset is None:
                return
            wanted["offset"] = page.next_page_offset

    # What is left on disk

    def segments(self) -> frozenset[str]:
        """Return the names of the collection's segments on this server; all new ones mean an observed rebuild."""
        return self.look().names

    def look(self) -> Look:
        """Look at the segments: which there are, and which of them still hold deleted points."""
        # The client's models of telemetry ask for more than a server tells (1.20 of 1.18.3).
        asked = self._client.service_api.api_client
        with translated():
            told = asked.request(type_=dict[str, Any], method="GET", url="/telemetry", params={"details_level": "10"})
        return look(told["result"], self._name)

    def turn_log(self) -> bool:
        """Fill the write-ahead log with deletions of points that never were, until nothing older is in it.

        Returns:
            False where its parts are too large for that; then what was deleted stays in it for long.
        """
        with translated():
            log = self._info().config.wal_config
        if log is None or log.wal_capacity_mb > LARGEST_LOG_MB:
            return False
        # One part is open, one may be closed and not yet acknowledged, and some are kept.
        parts = 2 + (log.wal_retain_closed or 0)
        for _ in range(parts * log.wal_capacity_mb * _CALLS_FOR_A_MB):
            self.delete([secrets.token_bytes(16) for _ in range(_IDS_IN_A_CALL)])
        # A server takes deletions by id that hit nothing for not yet done, and keeps their part of the log and all
        # before it; one by filter it takes for done, and with it what came before.
        self.delete_scope(secrets.token_bytes(16))
        return True

    def settled(self) -> bool:
        """Tell whether the server has no rebuild left to do."""
        with translated():
            info = self._info()
        return info.status is models.CollectionStatus.GREEN


def _match(field: str, value: str | int) -> dict[str, Any]:
    return {"key": field, "match": {"value": value}}


def _any(field: str, words: Collection[str]) -> dict[str, Any]:
    return {"key": field, "match": {"any": sorted(words)}}


def _of_handle(handle: bytes, epoch: int | None) -> list[dict[str, Any]]:
    if not handle:
        raise ValueError("a scope needs a handle")
    return [_match("handle", handle.hex()), *([] if epoch is None else [_match("epoch", epoch)])]


def _must(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    if not conditions:
        # Qdrant takes an empty filter for every point there is.
        raise ValueError("an empty filter selects everything")
    return {"must": conditions}
