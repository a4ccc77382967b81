"""The vector index through qdrant-client, against whatever serves it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from schemas.errors import ConfigurationError, PartUnavailable, UnknownOutcome
from schemas.settings import Settings
from schemas.words import MemoryType, Sensitivity, Visibility
from stores.vector_points import FIELDS, Point
from stores.vectors import VectorIndex

pytestmark = pytest.mark.integration
DIM = 8
ACME, OTHER = b"a" * 16, b"o" * 16
ANN, BOB = b"n" * 16, b"b" * 16
HOME, WORK = b"h" * 16, b"w" * 16


@pytest.fixture
def index(fresh_settings: Settings) -> Iterator[VectorIndex]:
    made = VectorIndex(fresh_settings, collection=f"t{os.urandom(4).hex()}")
    made.ensure(DIM)
    yield made
    made.drop()
    made.close()


def point(handle: bytes = ANN, tenant: bytes = ACME, **fields: Any) -> Point:
    given = {
        "id": os.urandom(16),
        "memory": os.urandom(16),
        "version": 1,
        "epoch": 1,
        "namespaces": [HOME],
        "type": MemoryType.FACT,
        "sensitivity": Sensitivity.NONE,
        "visibility": Visibility.PRIVATE,
    }
    return Point(handle=handle, tenant=tenant, **(given | fields))


def axis(*places: int) -> np.ndarray:
    return np.eye(DIM, dtype=np.float32)[list(places)]


def put(index: VectorIndex, *points: Point) -> None:
    index.upsert(points, axis(*(n % DIM for n in range(len(points)))))


def found(index: VectorIndex, **filters: Any) -> set[bytes]:
    hits = index.search(ACME, ANN, axis(0)[0], limit=50, **filters)
    return {hit.memory for hit in hits}


def test_the_nearest_comes_first_with_its_version(index: VectorIndex) -> None:
    far, near = point(), point(version=7)
    index.upsert([far, near], axis(1, 0))
    first, second = index.search(ACME, ANN, axis(0)[0], limit=5)
    assert (first.memory, first.version) == (near.memory, 7)
    assert first.similarity == pytest.approx(1.0, abs=1e-5)
    assert second.similarity == pytest.approx(0.0, abs=1e-5)


def test_nobody_sees_anybody_else(index: VectorIndex) -> None:
    mine = point()
    put(index, mine, point(handle=BOB), point(tenant=OTHER), point(handle=BOB, tenant=OTHER))
    assert found(index) == {mine.memory}


def test_filters(index: VectorIndex) -> None:
    now = datetime.now(UTC)
    plain = point()
    work = point(namespaces=[HOME, WORK], type=MemoryType.GOAL)
    touchy = point(sensitivity=Sensitivity.SENSITIVE, visibility=Visibility.SHARED)
    expired = point(expires_at=now - timedelta(seconds=5))
    dated = point(expires_at=now + timedelta(hours=1))
    put(index, plain, work, touchy, expired, dated)
    live = {plain.memory, work.memory, touchy.memory, dated.memory}
    assert found(index) == live
    assert found(index, now=now + timedelta(hours=2)) == live - {dated.memory}
    assert found(index, namespaces=[WORK]) == {work.memory}
    assert found(index, types=["goal", "preference"]) == {work.memory}
    assert found(index, sensitivities=["none", "personal"]) == live - {touchy.memory}
    assert found(index, visibilities=["shared"]) == {touchy.memory}
    assert found(index, namespaces=[]) == set(), "an empty list allows nothing"


@pytest.mark.parametrize(("tenant", "handle"), [(b"", ANN), (ACME, b"")])
def test_a_search_without_tenant_or_handle_cannot_be_made(index: VectorIndex, tenant: bytes, handle: bytes) -> None:
    with pytest.raises(ValueError, match="tenant and handle"):
        index.search(tenant, handle, axis(0)[0], limit=1)


def test_an_empty_scope_is_refused(index: VectorIndex) -> None:
    with pytest.raises(ValueError, match="handle"):
        index.delete_scope(b"")
    with pytest.raises(ValueError, match="handle"):
        index.count(b"")


def test_writing_twice_is_writing_once(index: VectorIndex) -> None:
    one = point()
    put(index, one)
    put(index, one)
    assert index.count() == 1


def test_ids_are_removed_whether_they_exist_or_not(index: VectorIndex) -> None:
    one, two = point(), point()
    put(index, one, two)
    index.delete([one.id, os.urandom(16)])
    assert index.existing([one.id, two.id]) == {two.id}
    index.delete([])
    assert index.existing([]) == set()


def test_a_scope_is_removed_and_nothing_else(index: VectorIndex) -> None:
    put(index, point(), point(epoch=2), point(handle=BOB))
    assert index.count(ANN) == 2
    index.delete_scope(ANN, 1)
    assert (index.count(ANN), index.count(ANN, 2), index.count()) == (1, 1, 2)
    index.delete_scope(ANN)
    assert (index.count(ANN), index.count()) == (0, 1)


def test_scroll_pages_through_everything(index: VectorIndex) -> None:
    mine = [point() for _ in range(2_300)]
    for start in range(0, len(mine), 500):
        put(index, *mine[start : start + 500])
    put(index, point(handle=BOB))
    assert {each.id for page in index.scroll(ANN) for each in page} == {one.id for one in mine}
    pages = list(index.scroll())
    assert sum(map(len, pages)) == 2_301
    assert len(pages) == 3


def test_changes_after_a_rebuild_count(index: VectorIndex) -> None:
    """The engine passes over an operation that is numbered below the point it meets."""
    put(index, *(point(handle=BOB) for _ in range(300)))
    for _ in range(2):
        mine = [point() for _ in range(50)]
        put(index, *mine)
        before = index.segments()
        index.delete([mine[0].id])
        until = time.monotonic() + 60
        while index.segments() == before and time.monotonic() < until:
            time.sleep(0.05)
        assert index.segments() != before, "a deletion leads to a rebuild"
        assert found(index) == {one.memory for one in mine[1:]}
        replaced = [Point(**{name: getattr(one, name) for name in Point.__slots__} | {"version": 9}) for one in mine]
        put(index, *replaced)
        assert {hit.version for hit in index.search(ACME, ANN, axis(0)[0], limit=50)} == {9}
        index.delete_scope(ANN, 1)
        assert index.count(ANN) == 0
    assert index.count() == 300


def test_ensure_is_idempotent_and_checks(index: VectorIndex) -> None:
    index.ensure(DIM)
    with pytest.raises(ConfigurationError, match="another length"):
        index.ensure(DIM + 1)


def test_a_missing_payload_index_is_found_at_boot(index: VectorIndex) -> None:
    index._client.indexes_api.delete_field_index(index._name, "epoch", wait=True)
    with pytest.raises(ConfigurationError, match="epoch"):
        index.check(DIM)
    index.ensure(DIM)


def test_a_filter_on_another_field_is_refused_by_the_server(index: VectorIndex) -> None:
    put(index, point())
    condition = models.FieldCondition(key="colour", match=models.MatchValue(value="red"))
    with pytest.raises(Exception, match="400"):
        request = models.CountRequest(filter=models.Filter(must=[condition]))
        index._client.points_api.count_points(index._name, count_request=request)


def test_every_field_that_is_written_has_an_index() -> None:
    assert set(point().payload()) == set(FIELDS)


def test_nobody_there(fresh_settings: Settings) -> None:
    index = VectorIndex(fresh_settings.model_copy(update={"qdrant": "http://127.0.0.1:1"}))
    for call in (lambda: index.count(), lambda: index.delete([b"x" * 16]), lambda: put(index, point())):
        with pytest.raises(PartUnavailable):
            call()
    index.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n"], ids=["cut", "500"])
def test_a_lost_answer_is_an_unknown_outcome(fresh_settings: Settings, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer_once, args=(server, answer), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        index = VectorIndex(fresh_settings.model_copy(update={"qdrant": address}), timeout=5)
        with pytest.raises(UnknownOutcome):
            put(index, point())
        index.close()


def test_no_answer_in_time_is_an_unknown_outcome(fresh_settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        index = VectorIndex(fresh_settings.model_copy(update={"qdrant": address}), timeout=1)
        with pytest.raises(UnknownOutcome):
            put(index, point())
        server.settimeout(0)
        server.accept()[0].close()
        with pytest.raises(BlockingIOError):  # the client does not try again by itself
            server.accept()
        index.close()


def _answer_once(server: socket.socket, answer: bytes) -> None:
    line, _ = server.accept()
    line.recv(65_536)
    line.sendall(answer)
    line.close()
