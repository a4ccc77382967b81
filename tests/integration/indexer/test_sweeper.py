"""What no hint came for, and what should not be in the index, is found by looking."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from consumers.indexer.consumer import Indexer
from consumers.indexer.sweep import drift
from stores.embeddings import embedder
from stores.memories import point_id
from stores.rotation import turn
from stores.vector_points import Indexed
from stores.vectors import VectorIndex
from tests.integration.indexer.world import Killed, World, dying

pytestmark = pytest.mark.integration


def test_the_sweeper_finds_all_three_kinds_and_repairs_them(world: World) -> None:
    kept, lost, gone = (world.remember(word) for word in ("tea", "bread", "wine"))
    world.take(kept, lost, gone)
    world.index.delete([point_id(world.keys, lost, 1)])
    world.run("DELETE FROM memories WHERE id = %s", gone)
    kinds = sorted(found.kind for found in drift(world.settings))
    assert kinds == ["missing", "orphan", "stale"]
    found = world.indexer.sweeper.run()
    assert found == {"orphan": 1, "missing": 1, "stale": 1}
    assert world.points() == {(kept, 1), (lost, 1)}
    assert world.indexer.sweeper.run() == {"orphan": 0, "missing": 0, "stale": 0}
    assert world.agrees()


def test_the_sweeper_pages_through_everything(world: World) -> None:
    memories = [world.remember(f"tea number {n}") for n in range(1203)]
    world.take(*memories)
    # Half of them leave the truth without a word.
    world.run("UPDATE memories SET status = 'revoked' WHERE id = ANY(%s)", memories[::2])
    assert world.indexer.sweeper.run()["orphan"] == 602
    assert world.index.count(world.handle) == 601
    assert world.agrees()


def test_points_of_a_blocked_subject_are_swept_and_its_ledger_is_left_to_the_purger(world: World) -> None:
    memory = world.remember("tea")
    world.take(memory)
    world.block()
    assert world.indexer.sweeper.run()["orphan"] == 1
    assert world.index.count(world.handle) == 0
    assert world.ledger() == [(memory, 1, "written")]


def test_a_point_under_a_lease_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = world.remember("tea")
    monkeypatch.setattr(VectorIndex, "upsert", dying(VectorIndex.upsert, before=False))
    with pytest.raises(Killed):
        world.take(memory)
    monkeypatch.undo()
    world.move(memory)
    assert drift(world.settings) == []
    world.lapse()
    assert Indexed(point_id(world.keys, memory, 1), memory, 1, world.handle, 1)
    world.tick()
    assert world.points() == {(memory, 2)}
    assert world.agrees()


def test_what_no_hint_came_for_is_indexed_by_the_tick(world: World) -> None:
    memory = world.remember("tea")
    world.tick()
    assert world.points() == set(), "its hint may still come"
    world.run("UPDATE memories SET updated_at = now() - interval '1 minute'")
    world.tick()
    assert world.points() == {(memory, 1)}
    assert world.agrees()


def test_two_indexers_at_one_memory_agree(world: World) -> None:
    memory = world.remember("tea")
    other = Indexer(world.settings)
    ready = [consumer.prepare([world.hint(memory)]) for consumer in (world.indexer, other)]
    results = []
    for consumer, one in zip((world.indexer, other), ready, strict=True):
        results.append(consumer.decide(one, consumer.load(world.driven.tx, one)))
        consumer.store(world.driven.tx, results[-1])
        world.driven.tx.commit()
    other.settle(results[1])
    world.indexer.settle(results[0])
    other.close()
    assert world.agrees()


def test_what_changes_without_a_new_version_is_written_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeat may prolong a memory; its version stays, and the index must not drop it at the old date."""
    memory, upsert = world.remember("tea"), VectorIndex.upsert
    world.run("UPDATE memories SET expires_at = now() + interval '1 second'")

    def slow(self: VectorIndex, *args: Any) -> None:
        upsert(self, *args)
        world.run("UPDATE memories SET expires_at = NULL, indexed_version = NULL, updated_at = now()")

    monkeypatch.setattr(VectorIndex, "upsert", slow)
    world.take(memory)
    monkeypatch.undo()
    assert world.one("SELECT indexed_version FROM memories") == (None,)
    world.run("UPDATE memories SET updated_at = now() - interval '1 minute'")
    world.tick()
    assert world.one("SELECT indexed_version FROM memories") == (1,)
    later = datetime.now(UTC) + timedelta(days=1)
    vector = turn(world.keys, embedder(world.settings).embed_query("tea"))
    assert world.index.search(world.tenant, world.handle, vector, limit=1, now=later)
