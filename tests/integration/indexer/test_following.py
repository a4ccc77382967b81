"""The index follows the truth (design, section 6, Indexer; invariant 3)."""

from __future__ import annotations

import pytest
from qdrant_client import models

from stores.embeddings import embedder
from stores.memories import point_id
from tests.integration.indexer.world import World

pytestmark = pytest.mark.integration


def test_an_active_memory_is_found_by_its_words(world: World) -> None:
    tea, bread = world.remember("oolong tea"), world.remember("rye bread")
    assert world.take(tea, bread, tea) == {"indexed": 2, "duplicate": 1}
    assert world.search("which tea, oolong?")[0] == tea
    assert world.search("rye bread")[0] == bread
    assert world.one("SELECT indexed_version FROM memories WHERE id = %s", tea) == (1,)
    assert world.agrees()


def test_a_point_has_a_parent_in_the_lineage(world: World) -> None:
    memory = world.remember("tea")
    world.take(memory)
    point = point_id(world.keys, memory, 1)
    row = world.one("SELECT child_kind, parent_kind, parent, handle FROM lineage WHERE child = %s", point)
    assert row == ("vector", "memory", memory, world.handle)


def test_the_index_holds_no_word_and_no_natural_id(world: World) -> None:
    world.take(world.remember("oolong tea"))
    request = models.ScrollRequest(with_payload=True, with_vector=True)
    answer = world.index._client.points_api.scroll_points("memories", scroll_request=request)
    (record,) = answer.result.points
    assert not any(word in str(record.payload) for word in ("oolong", "tea", "acme", "ann", "work"))
    plain = embedder(world.settings).embed_passages(["I like oolong tea"])[0]
    assert abs(float(plain @ record.vector)) < 0.5


@pytest.mark.parametrize("status", ["pending", "suggested", "superseded", "expired", "quarantined", "revoked"])
def test_only_active_memories_are_in_the_index(world: World, status: str) -> None:
    memory = world.remember("tea", status)
    assert world.take(memory) == {"none": 1}
    world.move(memory)
    assert world.take(memory) == {"indexed": 1}
    world.move(memory, status)
    assert world.take(memory) == {"removed": 1}
    assert world.points() == set()
    assert world.ledger() == []
    assert world.agrees()


def test_a_hint_is_only_a_hint(world: World) -> None:
    memory = world.remember("tea")
    world.move(memory)
    world.move(memory)
    # An old version, then the same again: what counts is the row.
    assert world.take(memory) == {"indexed": 1}
    assert world.take(memory) == {"current": 1}
    assert world.points() == {(memory, 3)}


def test_a_new_version_takes_the_place_of_the_old_one(world: World) -> None:
    memory = world.remember("tea")
    world.take(memory)
    world.move(memory)
    world.take(memory)
    assert world.points() == {(memory, 2)}
    assert world.ledger() == [(memory, 2, "written")]
    assert world.one("SELECT count(*) FROM lineage WHERE child_kind = 'vector'") == (1,)


def test_a_memory_without_a_row_leaves_no_point(world: World) -> None:
    memory = world.remember("tea")
    world.take(memory)
    world.run("DELETE FROM memories WHERE id = %s", memory)
    assert world.take(memory) == {"removed": 1}
    assert world.agrees()


def test_nothing_is_written_for_a_blocked_subject(world: World) -> None:
    memory = world.remember("tea")
    world.block()
    assert world.take(memory) == {"erased_source": 1}
    assert world.points() == set()
    assert world.ledger() == []


def test_every_write_raises_the_generation(world: World) -> None:
    memory = world.remember("tea")
    before = world.one("SELECT generation FROM subjects WHERE ref = %s", world.ref)[0]
    world.take(memory)
    world.move(memory, "expired")
    world.take(memory)
    assert world.one("SELECT generation FROM subjects WHERE ref = %s", world.ref)[0] >= before + 2


def test_a_bad_record_becomes_a_dead_letter_and_the_next_is_taken(world: World) -> None:
    memory = world.remember("tea")
    bad = world.hint(memory)._replace(value=b"{")
    result = world.driven.take(bad, world.hint(memory))
    assert [letter.reason for letter in result.dead_letters] == ["not_json"]
    assert result.counts == {"indexed": 1}
