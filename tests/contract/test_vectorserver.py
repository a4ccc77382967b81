"""Every call that the product makes of a vector server, by `qdrant-client`, replies in its models.

Against the embedded server, or against a real one where OBELUS_TEST_QDRANT has its address.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from qdrant_client import models as m
from qdrant_client.http.exceptions import UnexpectedResponse

from deploy import parts
from deploy.embedded.vectors import Vectors
from schemas.settings import Settings
from stores.vectors import VectorIndex
from tests.stack import short_home

pytestmark = [pytest.mark.integration, pytest.mark.contract]

REAL = os.environ.get("OBELUS_TEST_QDRANT", "")
SIZE = 8
INDEXED = {
    "handle": m.PayloadSchemaType.KEYWORD,
    "status": m.PayloadSchemaType.KEYWORD,
    "prefixes": m.PayloadSchemaType.KEYWORD,
    "epoch": m.PayloadSchemaType.INTEGER,
    "expires": m.PayloadSchemaType.DATETIME,
    "shared": m.PayloadSchemaType.BOOL,
}
embedded_only = pytest.mark.skipif(bool(REAL), reason="what only the embedded server promises")


@pytest.fixture(scope="module")
def server() -> Iterator[Vectors | None]:
    if REAL:
        yield None
        return
    with short_home() as home:
        part = Vectors(parts.place(home))
        part.start()
        yield part
        part.stop()


@pytest.fixture(scope="module")
def client(server: Vectors | None) -> Iterator[QdrantClient]:
    client = QdrantClient(url=server.address if server else REAL, timeout=20, check_compatibility=not REAL)
    yield client
    client.close()


@pytest.fixture
def name(client: QdrantClient) -> Iterator[str]:
    """A collection of ours, made as the product makes it."""
    name = f"t_{secrets.token_hex(4)}"
    client.create_collection(
        name,
        vectors_config=m.VectorParams(size=SIZE, distance=m.Distance.COSINE),
        optimizers_config=m.OptimizersConfigDiff(
            deleted_threshold=0.0, vacuum_min_vector_number=100, flush_interval_sec=1
        ),
        wal_config=m.WalConfigDiff(wal_capacity_mb=1, wal_segments_ahead=0),
        strict_mode_config=m.StrictModeConfig(
            enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False
        ),
    )
    for field, kind in INDEXED.items():
        client.create_payload_index(name, field, kind, wait=True)
    yield name
    client.delete_collection(name)


def vector(seed: int) -> list[float]:
    return [float((seed * 7 + place * place * 3) % 11 - 5) for place in range(SIZE)]


def point(number: int, handle: str = "h0", **payload: object) -> m.PointStruct:
    body = {"handle": handle, "status": "active", "epoch": 1, "number": number, **payload}
    return m.PointStruct(id=str(uuid.UUID(int=number + 1)), vector=vector(number), payload=body)


def ids(numbers: range | list[int]) -> list[str]:
    return [str(uuid.UUID(int=number + 1)) for number in numbers]


def where(**values: object) -> m.Filter:
    return m.Filter(must=[m.FieldCondition(key=k, match=m.MatchValue(value=v)) for k, v in values.items()])


def fill(client: QdrantClient, name: str, count: int = 30) -> None:
    points = [
        point(
            number,
            handle=f"h{number % 3}",
            epoch=number % 2,
            shared=number % 5 == 0,
            prefixes=["a", f"a.{number % 4}"],
            expires=f"2030-01-{number % 28 + 1:02}T00:00:00Z",
        )
        for number in range(count)
    ]
    done = client.upsert(name, points, wait=True)
    assert done.status == m.UpdateStatus.COMPLETED


def total(client: QdrantClient, name: str, wanted: m.Filter | None = None) -> int:
    return client.count(name, count_filter=wanted, exact=True).count


# Collections


def test_the_root_tells_a_version_that_suits_the_client(client: QdrantClient) -> None:
    about = client.info()
    assert about.title.startswith("qdrant")
    assert about.version.startswith("1.")


def test_a_collection_is_made_seen_and_removed(client: QdrantClient) -> None:
    name = f"t_{secrets.token_hex(4)}"
    assert not client.collection_exists(name)
    assert client.create_collection(name, m.VectorParams(size=4, distance=m.Distance.DOT))
    assert client.collection_exists(name)
    assert name in {one.name for one in client.get_collections().collections}
    with pytest.raises(UnexpectedResponse) as refused:
        client.create_collection(name, m.VectorParams(size=4, distance=m.Distance.DOT))
    assert refused.value.status_code == 409
    assert client.delete_collection(name)
    assert not client.collection_exists(name)


def test_an_unknown_collection_is_not_found(client: QdrantClient) -> None:
    with pytest.raises(UnexpectedResponse) as refused:
        client.get_collection("nowhere")
    assert refused.value.status_code == 404
    assert b"doesn't exist" in refused.value.content


def test_info_tells_points_segments_indexes_and_strict_mode(client: QdrantClient, name: str) -> None:
    fill(client, name)
    info = client.get_collection(name)
    assert info.points_count == 30
    assert info.optimizer_status == m.OptimizersStatusOneOf.OK
    assert info.segments_count >= 1
    assert info.config.strict_mode_config is not None
    assert info.config.strict_mode_config.enabled
    assert isinstance(info.config.params.vectors, m.VectorParams)
    assert info.config.params.vectors.size == SIZE
    assert {field: one.data_type for field, one in info.payload_schema.items()} == INDEXED


def test_an_index_can_be_dropped(client: QdrantClient, name: str) -> None:
    fill(client, name)
    client.delete_payload_index(name, "epoch", wait=True)
    assert "epoch" not in client.get_collection(name).payload_schema
    with pytest.raises(UnexpectedResponse):
        total(client, name, where(epoch=1))


# Points


def test_what_was_written_is_read_back(client: QdrantClient, name: str) -> None:
    fill(client, name)
    (found,) = client.retrieve(name, ids([4]), with_payload=True, with_vectors=True)
    assert found.id == ids([4])[0]
    assert found.payload is not None
    assert found.payload["number"] == 4
    length = sum(x * x for x in vector(4)) ** 0.5
    assert found.vector == pytest.approx([x / length for x in vector(4)], abs=1e-5)
    (bare,) = client.retrieve(name, ids([4]), with_payload=["number"])
    assert bare.payload == {"number": 4}
    assert bare.vector is None
    assert client.retrieve(name, ids([999])) == []


def test_an_upsert_replaces_the_whole_point(client: QdrantClient, name: str) -> None:
    client.upsert(name, [point(1, extra="old")], wait=True)
    client.upsert(name, [point(1, handle="h9")], wait=True)
    (found,) = client.retrieve(name, ids([1]))
    assert found.payload is not None
    assert "extra" not in found.payload
    assert total(client, name) == 1


def test_columns_are_accepted_as_well_as_points(client: QdrantClient, name: str) -> None:
    batch = m.Batch(ids=[1, 2], vectors=[vector(1), vector(2)], payloads=[{"epoch": 1}, {}])
    client.upsert(name, batch, wait=True)
    assert total(client, name) == 2
    assert total(client, name, where(epoch=1)) == 1


def test_an_update_that_inserts_nothing(client: QdrantClient, name: str) -> None:
    client.upsert(name, [point(1)], wait=True, update_mode=m.UpdateMode.UPDATE_ONLY)
    assert total(client, name) == 0


def test_a_vector_of_the_wrong_size_is_refused(client: QdrantClient, name: str) -> None:
    wrong = m.PointStruct(id=1, vector=[1.0], payload={})
    with pytest.raises(UnexpectedResponse) as refused:
        client.upsert(name, [wrong], wait=True)
    assert refused.value.status_code == 400
    assert total(client, name) == 0


def test_payload_is_changed_by_ids_and_by_filter(client: QdrantClient, name: str) -> None:
    fill(client, name)
    client.set_payload(name, {"status": "superseded"}, points=ids([0, 1]), wait=True)
    assert total(client, name, where(status="superseded")) == 2
    (kept,) = client.retrieve(name, ids([0]))
    assert kept.payload is not None
    assert kept.payload["number"] == 0
    client.set_payload(name, {"status": "revoked"}, points=where(handle="h1"), wait=True)
    assert total(client, name, where(status="revoked")) == 10
    client.overwrite_payload(name, {"status": "only"}, points=ids([0]), wait=True)
    (replaced,) = client.retrieve(name, ids([0]))
    assert replaced.payload == {"status": "only"}
    client.delete_payload(name, ["status"], points=ids([0]), wait=True)
    assert client.retrieve(name, ids([0]))[0].payload in ({}, None)


# Reading


def test_a_query_filters_first_and_ranks_what_is_left(client: QdrantClient, name: str) -> None:
    fill(client, name)
    answer = client.query_points(
        name,
        query=vector(4),
        query_filter=where(handle="h1", status="active"),
        limit=5,
        with_payload=True,
    )
    assert [one.payload["handle"] for one in answer.points if one.payload] == ["h1"] * 5
    scores = [one.score for one in answer.points]
    assert scores == sorted(scores, reverse=True)
    assert answer.points[0].id in ids([4, 15, 26])  # the vectors repeat after eleven
    assert scores[0] == pytest.approx(1.0, abs=1e-5)


def test_a_query_offsets_thresholds_and_leaves_payload_out(client: QdrantClient, name: str) -> None:
    fill(client, name)
    wanted = where(handle="h1")
    all_ten = client.query_points(name, query=vector(4), query_filter=wanted, limit=10, with_payload=False).points
    later = client.query_points(name, query=vector(4), query_filter=wanted, limit=10, offset=4).points
    assert [one.score for one in later] == [one.score for one in all_ten][4:]
    assert all_ten[0].payload is None
    near = client.query_points(name, query=vector(4), query_filter=wanted, score_threshold=0.99).points
    assert {one.id for one in near} == {one.id for one in all_ten if one.score >= 0.99}


def test_a_query_by_filter_alone(client: QdrantClient, name: str) -> None:
    fill(client, name)
    answer = client.query_points(name, query_filter=where(handle="h2"), limit=100)
    assert {one.id for one in answer.points} == set(ids(range(2, 30, 3)))


def test_several_queries_at_once(client: QdrantClient, name: str) -> None:
    fill(client, name)
    both = client.query_batch_points(
        name,
        [m.QueryRequest(query=vector(1), filter=where(handle=h), limit=3) for h in ("h0", "h1")],
    )
    assert [len(one.points) for one in both] == [3, 3]


def test_scrolling_reaches_every_point_once(client: QdrantClient, name: str) -> None:
    fill(client, name)
    seen: list[object] = []
    offset: object = None
    while True:
        page, offset = client.scroll(name, scroll_filter=where(handle="h0"), limit=4, offset=offset, with_payload=True)
        assert len(page) <= 4
        seen += [one.id for one in page]
        if offset is None:
            break
    assert seen == ids(range(0, 30, 3))


def test_scrolling_gives_vectors_where_asked(client: QdrantClient, name: str) -> None:
    fill(client, name)
    page, _ = client.scroll(name, limit=2, with_vectors=True, with_payload=False)
    assert all(one.vector is not None and one.payload is None for one in page)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (m.Filter(must=[m.FieldCondition(key="epoch", match=m.MatchValue(value=1))]), 15),
        (m.Filter(must=[m.FieldCondition(key="shared", match=m.MatchValue(value=True))]), 6),
        (m.Filter(must=[m.FieldCondition(key="handle", match=m.MatchAny(any=["h0", "h1"]))]), 20),
        (
            m.Filter(must=[m.FieldCondition(key="handle", match=m.MatchExcept(**{"except": ["h0"]}))]),
            20,
        ),
        (m.Filter(must_not=[m.FieldCondition(key="handle", match=m.MatchValue(value="h0"))]), 20),
        (
            m.Filter(
                should=[
                    m.FieldCondition(key="handle", match=m.MatchValue(value="h0")),
                    m.FieldCondition(key="shared", match=m.MatchValue(value=True)),
                ]
            ),
            14,
        ),
        (
            m.Filter(
                min_should=m.MinShould(
                    conditions=[
                        m.FieldCondition(key="handle", match=m.MatchValue(value="h0")),
                        m.FieldCondition(key="shared", match=m.MatchValue(value=True)),
                    ],
                    min_count=2,
                )
            ),
            2,
        ),
        (m.Filter(must=[m.FieldCondition(key="epoch", range=m.Range(gte=1))]), 15),
        (
            m.Filter(must=[m.FieldCondition(key="expires", range=m.DatetimeRange(lt="2030-01-05T00:00:00Z"))]),
            6,
        ),
        (m.Filter(must=[m.FieldCondition(key="prefixes", match=m.MatchValue(value="a.3"))]), 7),
        (m.Filter(must=[m.HasIdCondition(has_id=ids([1, 2, 999]))]), 2),
        (m.Filter(must=[m.IsEmptyCondition(is_empty=m.PayloadField(key="epoch"))]), 0),
        (
            m.Filter(
                must=[
                    m.Filter(
                        should=[m.FieldCondition(key="epoch", match=m.MatchValue(value=0))],
                        must_not=[m.FieldCondition(key="handle", match=m.MatchValue(value="h0"))],
                    )
                ]
            ),
            10,
        ),
    ],
)
def test_filters_mean_what_they_say(client: QdrantClient, name: str, wanted: m.Filter, expected: int) -> None:
    fill(client, name)
    assert total(client, name, wanted) == expected
    page, _ = client.scroll(name, scroll_filter=wanted, limit=100)
    assert len(page) == expected


# Strict mode

UNINDEXED = where(number=1)


def test_no_call_filters_by_a_field_without_an_index(client: QdrantClient, name: str) -> None:
    fill(client, name)
    calls = [
        lambda: client.count(name, count_filter=UNINDEXED),
        lambda: client.scroll(name, scroll_filter=UNINDEXED),
        lambda: client.query_points(name, query=vector(1), query_filter=UNINDEXED),
        lambda: client.query_points(name, query_filter=UNINDEXED),
        lambda: client.delete(name, m.FilterSelector(filter=UNINDEXED), wait=True),
        lambda: client.set_payload(name, {"status": "x"}, points=UNINDEXED, wait=True),
        lambda: client.count(name, count_filter=m.Filter(must_not=[UNINDEXED])),
    ]
    for call in calls:
        with pytest.raises(UnexpectedResponse) as refused:
            call()
        assert refused.value.status_code in (400, 403)
        assert b"ndex required but not found" in refused.value.content
    assert total(client, name) == 30


def test_an_index_of_another_type_does_not_serve(client: QdrantClient, name: str) -> None:
    with pytest.raises(UnexpectedResponse):
        total(client, name, m.Filter(must=[m.FieldCondition(key="handle", range=m.Range(gt=1))]))


# Deleting


def test_points_are_deleted_by_ids_and_by_filter(client: QdrantClient, name: str) -> None:
    fill(client, name)
    client.delete(name, m.PointIdsList(points=ids([0, 1, 999])), wait=True)
    assert total(client, name) == 28
    client.delete(name, m.FilterSelector(filter=where(handle="h0")), wait=True)
    assert total(client, name, where(handle="h0")) == 0
    assert total(client, name) == 19
    assert client.retrieve(name, ids([3])) == []


@embedded_only
def test_an_empty_filter_deletes_nothing(client: QdrantClient, name: str) -> None:
    fill(client, name)
    for empty in (m.Filter(), m.Filter(must=[])):
        with pytest.raises(UnexpectedResponse) as refused:
            client.delete(name, m.FilterSelector(filter=empty), wait=True)
        assert refused.value.status_code == 400
    assert total(client, name) == 30


def segments(client: QdrantClient, name: str) -> set[str]:
    """The names of a collection's segments, as telemetry tells them."""
    with contextlib.closing(VectorIndex(Settings(qdrant=client.init_options["url"]), collection=name)) as index:
        return set(index.segments())


def await_rebuild(client: QdrantClient, name: str, before: set[str]) -> set[str]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if client.get_collection(name).status == m.CollectionStatus.GREEN:
            now = segments(client, name)
            if now != before:
                return now
        time.sleep(0.05)
    raise AssertionError("no rebuild was observed")


def test_a_rebuild_after_a_deletion_can_be_observed(client: QdrantClient, name: str) -> None:
    fill(client, name, 300)
    before = segments(client, name)
    assert before
    client.delete(name, m.PointIdsList(points=ids([7])), wait=True)
    await_rebuild(client, name, before)
    assert total(client, name) == 299


@embedded_only
@pytest.mark.parametrize("count", [3, 300])
def test_after_the_rebuild_no_file_holds_the_deleted(
    client: QdrantClient, name: str, server: Vectors, count: int
) -> None:
    canary = f"canary{secrets.token_hex(8)}"
    fill(client, name, count)
    client.upsert(name, [point(900, handle=canary)], wait=True)
    folder = server.place.home / "vectors" / name
    assert holders(folder, canary)
    before = segments(client, name)
    client.delete(name, m.FilterSelector(filter=where(handle=canary)), wait=True)
    await_rebuild(client, name, before)
    assert holders(folder, canary) == []
    assert total(client, name) == count


def holders(folder: Path, text: str) -> list[Path]:
    """Files that hold a text; one that goes away while it is read holds nothing."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            if text.encode() in path.read_bytes():
                found.append(path)
    return found


# What it is not


@embedded_only
def test_the_id_that_the_engine_mistakes_is_refused(client: QdrantClient, name: str) -> None:
    zero = m.PointStruct(id=0, vector=vector(1), payload={})
    with pytest.raises(UnexpectedResponse) as refused:
        client.upsert(name, [point(1), zero], wait=True)
    assert refused.value.status_code == 501
    assert total(client, name) == 0


@embedded_only
def test_unknown_calls_are_refused_by_name(client: QdrantClient, name: str) -> None:
    calls = {
        "PATCH": lambda: client.update_collection(name, optimizers_config=m.OptimizersConfigDiff(flush_interval_sec=2)),
        "snapshots": lambda: client.create_snapshot(name),
        "facet": lambda: client.facet(name, "handle"),
        "prefetch": lambda: client.query_points(name, prefetch=[m.Prefetch(query=vector(1))], query=vector(1)),
        "order_by": lambda: client.scroll(name, order_by="epoch"),
    }
    for named, call in calls.items():
        with pytest.raises(UnexpectedResponse) as refused:
            call()
        assert refused.value.status_code == 501
        assert named.encode() in refused.value.content


@embedded_only
def test_a_body_that_is_not_json_is_a_bad_request(server: Vectors, name: str) -> None:
    import httpx

    answer = httpx.post(f"{server.address}/collections/{name}/points/count", content=b"{")
    assert answer.status_code == 400
    assert "error" in answer.json()["status"]
