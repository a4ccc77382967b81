"""H12, A1: one person with very much: everything goes, in pieces, and nothing that is sent grows with it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from benchmarks.memories import Loader, Seed
from schemas import datamap
from schemas.settings import Settings
from schemas.topics import RECEIPTS
from stores.erasers.tables import CHUNK
from streams.topics import apply
from tests.integration.test_erasure import Hand, forget

pytestmark = pytest.mark.integration

FEW = 10
TABLES = (*datamap.TABLES, "vectors", "subjects")


@pytest.fixture
def hand(fresh_settings: Settings) -> Iterator[Hand]:
    apply(fresh_settings)
    found = Hand(fresh_settings.model_copy(update={"turns_log": "shared"}))
    found.parts.index.ensure(384)
    yield found
    found.close()


def load(hand: Hand, subject: str, count: int) -> bytes:
    """Memories of one person; give the handle."""
    loader = Loader(hand.settings)
    for start in range(0, count, 5000):
        many = range(start, min(start + 5000, count))
        loader.load([Seed(subject, f"k{n}", f"value {n}", tenant="t1") for n in many])
    ref = loader.vault.lookup("t1", create=True).subject(subject)  # type: ignore[union-attr]
    loader.close()
    row = hand.parts.observing().execute("SELECT handle FROM subjects WHERE ref = %s", (ref,)).fetchone()
    return bytes(row[0])


def rows_of(hand: Hand, handle: bytes) -> int:
    query = "SELECT " + " + ".join(f"(SELECT count(*) FROM {table} WHERE handle = %(h)s)" for table in TABLES)
    return int(hand.parts.observing().execute(query, {"h": handle}).fetchone()[0])


def told(hand: Hand) -> dict[str, list[int]]:
    """Sizes of what the purger has left to be published, by topic; then it is out."""
    rows = hand.parts.observing().execute("DELETE FROM outbox RETURNING topic, length(body)").fetchall()
    sizes: dict[str, list[int]] = {}
    for topic, size in rows:
        sizes.setdefault(topic, []).append(size)
    return {topic: sorted(found) for topic, found in sizes.items()}


def verified(hand: Hand, subject: str, within: float) -> bytes:
    erasure = hand.send(forget(subject))
    until = time.monotonic() + within
    while hand.advance(erasure) not in ("verified", "final"):
        assert time.monotonic() < until, "not verified in time"
        time.sleep(0.2)
    return erasure


def erased(hand: Hand, count: int, within: float) -> None:
    load(hand, "few", FEW)
    verified(hand, "few", within)
    little = told(hand)

    handle, other = load(hand, "much", count), load(hand, "other", FEW)
    others = rows_of(hand, other)
    assert rows_of(hand, handle) > max(CHUNK, count)
    begun = time.monotonic()
    erasure = verified(hand, "much", within)
    print(f"{count} memories verified after {time.monotonic() - begun:.1f} s")
    assert rows_of(hand, handle) == 0 and rows_of(hand, other) == others
    assert hand.parts.index.count(handle) == 0 and hand.parts.index.count(other) == FEW
    lines = hand.parts.observing().execute(
        "SELECT entry, before, after FROM erasure_lines WHERE erasure = %s AND before > 1", (erasure,)
    )
    counted = {entry: (before, after) for entry, before, after in lines.fetchall()}
    assert counted["postgres.memories"] == counted["qdrant.memories"] == counted["postgres.vectors"] == (count, 0)

    much = told(hand)
    assert {topic: len(sizes) for topic, sizes in much.items()} == {
        topic: len(sizes) for topic, sizes in little.items()
    }
    # A count has more digits, and nothing else is longer.
    for topic, sizes in much.items():
        allowed = 300 if topic == RECEIPTS else 0
        assert all(size <= small + allowed for size, small in zip(sizes, little[topic], strict=True)), topic


def test_more_rows_than_one_transaction_takes(hand: Hand) -> None:
    erased(hand, 3_000, 60)


@pytest.mark.chaos
@pytest.mark.slow
def test_200_000_memories(hand: Hand) -> None:
    erased(hand, 200_000, 400)
