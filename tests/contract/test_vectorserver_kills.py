"""What the embedded vector server acknowledged survives a kill, and what it deleted stays deleted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from qdrant_client import models as m
from qdrant_client.http.exceptions import ResponseHandlingException

from deploy import parts
from deploy.embedded.vectors import Vectors
from tests.contract.test_vectorserver import SIZE, embedded_only, ids, point, total, where
from tests.stack import short_home

pytestmark = [pytest.mark.integration, pytest.mark.contract]


@contextmanager
def served(*more: str) -> Iterator[tuple[Vectors, Path]]:
    """A server of its own, and its home."""
    with short_home() as home:
        part = Vectors(parts.place(home))
        part.more = more
        part.start()
        try:
            yield part, home
        finally:
            part.stop()


@embedded_only
def test_what_was_acknowledged_survives_a_kill() -> None:
    with served() as (part, _):
        client = QdrantClient(url=part.address)
        client.create_collection("kept", m.VectorParams(size=SIZE, distance=m.Distance.COSINE))
        client.create_payload_index("kept", "handle", m.PayloadSchemaType.KEYWORD)
        fill_plain(client, 2000)
        client.delete("kept", m.PointIdsList(points=ids(range(100))), wait=True)
        assert part.child is not None
        part.child.signal(9)
        part.child.wait(5)
        part.start()
        assert total(client, "kept") == 1900
        assert total(client, "kept", where(handle="h1")) == 634
        part.stop()
        part.start()
        assert total(client, "kept") == 1900
        client.close()


@embedded_only
@pytest.mark.chaos
@pytest.mark.parametrize("more", [(), ("--aside-above", "10")], ids=["in place", "aside"])
@pytest.mark.parametrize("seed", range(4))
def test_kills_amid_writes_deletions_and_rebuilds_lose_and_revive_nothing(seed: int, more: tuple[str, ...]) -> None:
    draw = random.Random(seed)
    held: dict[str, int] = {}
    with served(*more) as (part, _):
        client = QdrantClient(url=part.address, timeout=5, check_compatibility=False)
        client.create_collection("kept", m.VectorParams(size=SIZE, distance=m.Distance.COSINE))
        client.create_payload_index("kept", "handle", m.PayloadSchemaType.KEYWORD)
        for _ in range(8):
            assert part.child is not None
            killer = threading.Timer(draw.uniform(0.2, 1.5), part.child.signal, [9])
            killer.start()
            doubtful = write_until_refused(client, draw, held)
            killer.join()
            part.child.wait(5)
            part.start()
            page, _ = client.scroll("kept", limit=10_000)
            now = {str(one.id): (one.payload or {})["written"] for one in page}
            for one in now.keys() | held.keys():
                assert now.get(one) == held.get(one) or one in doubtful
            assert total(client, "kept", where(handle="h0")) == len(now)
            held = now
        client.close()


@embedded_only
def test_a_large_collection_is_rebuilt_while_it_serves_and_is_written_to() -> None:
    with served("--aside-above", "1000") as (part, home):
        client = QdrantClient(url=part.address, timeout=5, check_compatibility=False)
        client.create_collection("kept", m.VectorParams(size=SIZE, distance=m.Distance.COSINE))
        client.create_payload_index("kept", "handle", m.PayloadSchemaType.KEYWORD)
        fill_plain(client, 2000)
        client.upsert("kept", [point(5000, handle="secret-handle-9137")], wait=True)
        folder = home / "vectors" / "kept"
        client.delete("kept", where(handle="secret-handle-9137"), wait=True)
        # Until the copy has taken over, points come, go and change.
        number = 2000
        while not (folder / "current").exists():
            client.upsert("kept", [point(number, handle="h9"), point(0, handle=f"now-{number}")], wait=True)
            client.delete("kept", m.PointIdsList(points=ids([number - 1000])), wait=True)
            assert total(client, "kept") == 2000
            number += 1
            assert number < 3000
            time.sleep(0.05)  # a busy machine needs a minute, and there are a thousand points to take away
        assert number > 2000
        assert total(client, "kept", where(handle="h9")) == number - 2000
        assert total(client, "kept", where(handle=f"now-{number - 1}")) == 1
        assert [path.name for path in folder.glob("engine*")] == [(folder / "current").read_text()]
        assert not any(b"secret-handle-9137" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert part.child is not None
        part.child.signal(9)
        part.child.wait(5)
        part.start()
        assert total(client, "kept") == 2000
        assert total(client, "kept", where(handle="h9")) == number - 2000
        client.delete_collection("kept")
        assert not folder.exists()
        client.close()


def write_until_refused(client: QdrantClient, draw: random.Random, held: dict[str, int]) -> set[str]:
    """Write and delete until the server is gone; give the ids whose last call was not answered."""
    while True:
        some = [draw.randrange(2000) for _ in range(50)]
        chosen = ids(some)
        number = draw.randrange(1 << 30)
        try:
            if draw.random() < 0.6:
                client.upsert("kept", [point(n, written=number) for n in set(some)], wait=True)
                held.update(dict.fromkeys(chosen, number))
            else:
                client.delete("kept", m.PointIdsList(points=chosen), wait=True)
                for one in chosen:
                    held.pop(one, None)
        except ResponseHandlingException:
            return set(chosen)


def fill_plain(client: QdrantClient, count: int) -> None:
    for start in range(0, count, 500):
        points = [point(n, handle=f"h{n % 3}") for n in range(start, start + 500)]
        client.upsert("kept", points, wait=True)
