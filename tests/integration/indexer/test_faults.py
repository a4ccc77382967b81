"""The index follows the truth, whatever is killed, late or moved."""

from __future__ import annotations

from typing import Any

import pytest

from consumers.indexer import store
from consumers.indexer.sweep import drift
from schemas.errors import PartUnavailable, UnknownOutcome
from stores.vectors import VectorIndex
from tests.integration.indexer.world import Killed, World, dying

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("before", [True, False], ids=["between intent and upsert", "between upsert and close"])
def test_a_killed_write_is_taken_up_by_the_tick(world: World, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    memory = world.remember("tea")
    monkeypatch.setattr(VectorIndex, "upsert", dying(VectorIndex.upsert, before))
    with pytest.raises(Killed):
        world.take(memory)
    monkeypatch.undo()
    assert world.ledger() == [(memory, 1, "intent")]
    world.tick()
    assert world.ledger() == [(memory, 1, "intent")], "the lease has not lapsed"
    world.lapse()
    world.tick()
    assert world.agrees()


@pytest.mark.parametrize("before", [True, False], ids=["before the delete", "after the delete"])
def test_a_killed_removal_is_taken_up_by_the_tick(world: World, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    memory = world.remember("tea")
    world.take(memory)
    world.move(memory, "expired")
    monkeypatch.setattr(VectorIndex, "delete", dying(VectorIndex.delete, before))
    with pytest.raises(Killed):
        world.take(memory)
    monkeypatch.undo()
    assert world.ledger() == [(memory, 1, "removing")]
    world.lapse()
    world.tick()
    assert world.points() == set()
    assert world.agrees()


def test_a_lost_answer_is_repeated_in_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = world.remember("tea")
    upsert, calls = VectorIndex.upsert, []

    def lost(self: VectorIndex, *args: Any) -> None:
        upsert(self, *args)
        calls.append(1)
        if len(calls) == 1:
            raise UnknownOutcome

    monkeypatch.setattr(VectorIndex, "upsert", lost)
    ready = world.indexer.prepare([world.hint(memory)])
    result = world.indexer.decide(ready, world.indexer.load(world.driven.tx, ready))
    world.indexer.store(world.driven.tx, result)
    world.driven.tx.commit()
    with pytest.raises(UnknownOutcome):
        world.indexer.settle(result)
    world.indexer.settle(result)
    assert world.agrees()


@pytest.mark.parametrize("status", ["active", "superseded"])
def test_what_moved_while_it_was_written_is_undone(world: World, monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    memory, upsert = world.remember("tea"), VectorIndex.upsert

    def slow(self: VectorIndex, *args: Any) -> None:
        upsert(self, *args)
        world.move(memory, status)

    monkeypatch.setattr(VectorIndex, "upsert", slow)
    world.take(memory)
    monkeypatch.undo()
    assert world.points() == set()
    world.take(memory)
    assert world.agrees()


def test_a_block_while_it_was_written_undoes_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, upsert = world.remember("tea"), VectorIndex.upsert

    def slow(self: VectorIndex, *args: Any) -> None:
        upsert(self, *args)
        world.block()

    monkeypatch.setattr(VectorIndex, "upsert", slow)
    world.take(memory)
    assert world.points() == set()
    assert world.ledger() == []


def test_a_write_that_comes_after_its_lease_and_after_an_erasure_is_undone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker stopped between intent and write, continued when the purger is through."""
    memory, upsert = world.remember("tea"), VectorIndex.upsert

    def late(self: VectorIndex, *args: Any) -> None:
        world.block()
        world.run("DELETE FROM vectors")
        world.run("DELETE FROM memories")
        upsert(self, *args)

    monkeypatch.setattr(VectorIndex, "upsert", late)
    world.take(memory)
    assert world.index.count(world.handle) == 0


def test_a_late_write_is_not_even_begun(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = world.remember("tea")
    ready = world.indexer.prepare([world.hint(memory)])
    result = world.indexer.decide(ready, world.indexer.load(world.driven.tx, ready))
    world.indexer.store(world.driven.tx, result)
    world.driven.tx.commit()
    result.leased_at -= store.LEASE_SECONDS
    world.block()
    monkeypatch.setattr(VectorIndex, "upsert", dying(VectorIndex.upsert, before=True))
    world.indexer.settle(result)
    assert world.index.count(world.handle) == 0


def test_an_upsert_that_lands_after_everything_is_swept(world: World) -> None:
    """A client timed out, gave up and died; the server applied its write later."""
    memory = world.remember("tea")
    ready = world.indexer.prepare([world.hint(memory)])
    result = world.indexer.decide(ready, world.indexer.load(world.driven.tx, ready))
    world.driven.tx.rollback()
    world.move(memory, "superseded")
    (write,) = result.writes
    world.index.upsert([write.point], write.vector.reshape(1, -1))
    assert [found.kind for found in drift(world.settings)] == ["orphan"]
    assert world.indexer.sweeper.run() == {"orphan": 1, "missing": 0, "stale": 0}
    assert world.agrees()


def test_the_index_is_away_and_comes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = world.remember("tea")

    def away(*args: Any) -> None:
        raise PartUnavailable

    monkeypatch.setattr(VectorIndex, "upsert", away)
    ready = world.indexer.prepare([world.hint(memory)])
    result = world.indexer.decide(ready, world.indexer.load(world.driven.tx, ready))
    world.indexer.store(world.driven.tx, result)
    world.driven.tx.commit()
    for _ in range(3):
        with pytest.raises(PartUnavailable):
            world.indexer.settle(result)
    monkeypatch.undo()
    world.indexer.settle(result)
    assert world.agrees()
