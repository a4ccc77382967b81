"""The index follows the truth, whatever is killed, late or moved (design, section 6, Indexer; invariant 3)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from qdrant_client import models

from consumers.indexer import store
from consumers.indexer.consumer import Indexer
from consumers.indexer.sweep import drift
from schemas.errors import PartUnavailable, UnknownOutcome
from schemas.events import Change
from schemas.settings import Settings
from schemas.topics import CHANGES
from schemas.words import MemoryStatus
from stores.database import Connection, connect
from stores.embeddings import embedder
from stores.memories import namespace_hashes, point_id
from stores.rotation import turn
from stores.subjects import ensure_subjects
from stores.vault import open_vault
from stores.vector_points import Indexed
from stores.vectors import VectorIndex
from streams.codec import Position, Record, message
from tests.integration.driven import Driven

pytestmark = pytest.mark.integration
_POSITIONS = itertools.count()
NOW = datetime.now(UTC)


@dataclass
class World:
    """A subject, memories written as the resolver writes them, and the indexer."""

    settings: Settings
    driven: Driven
    conn: Connection
    index: VectorIndex
    handle: bytes = b""
    epoch: int = 1
    ref: bytes = b""
    tenant: bytes = b""
    _made: Iterator[int] = field(default_factory=itertools.count)

    def begin(self, subject: str = "ann") -> None:
        vault = open_vault(self.settings)
        self.ref = ensure_subjects(self.conn, vault, [("acme", subject)])["acme", subject]
        sql = "SELECT handle, epoch, tenant FROM subjects WHERE ref = %s"
        self.handle, self.epoch, self.tenant = self.one(sql, self.ref)
        self.keys = vault.data_keys([self.handle])[self.handle]
        vault.close()

    def one(self, sql: str, *values: Any) -> tuple[Any, ...]:
        row = self.conn.execute(sql, values).fetchone()
        self.conn.commit()
        assert row is not None
        return row

    def run(self, sql: str, *values: Any) -> None:
        self.conn.execute(sql, values)
        self.conn.commit()

    def remember(self, value: str, status: str = "active", version: int = 1) -> bytes:
        memory = self.keys.id("memory", str(next(self._made)))
        body = {"namespace": "work.tea", "key": "tea", "value": value, "quote": f"I like {value}", "conditions": []}
        self.run(
            "WITH edge AS (INSERT INTO lineage VALUES ('memory', %s, 'decision', %s, %s))"
            " INSERT INTO memories (id, subject, tenant, handle, epoch, identity, value_digest, version, status, type,"
            " polarity, source_type, sensitivity, visibility, namespaces, confidence, importance, explicit, turn_row,"
            " valid_from, body) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'preference', 'positive', 'user_stated',"
            " 'none', 'private', %s, 1, 1, true, 1, %s, %s)",
            memory, memory, self.handle,
            memory, self.ref, self.tenant, self.handle, self.epoch, memory, memory, version, status,
            list(namespace_hashes(self.keys, "work.tea")), NOW, self.keys.seal(memory, orjson.dumps(body)),
        )  # fmt: skip
        return memory

    def move(self, memory: bytes, status: str = "active") -> None:
        self.run("UPDATE memories SET version = version + 1, status = %s WHERE id = %s", status, memory)

    def block(self) -> None:
        self.run("UPDATE subjects SET handle = NULL, epoch = epoch + 1 WHERE ref = %s", self.ref)

    def hint(self, memory: bytes, version: int = 1) -> Record:
        event = Change(
            id=memory.hex(), version=version, status=MemoryStatus.ACTIVE, handle=self.handle.hex(), epoch=self.epoch
        )
        made = message(CHANGES, event.handle, event, "e")
        return Record(Position(1, 0, next(_POSITIONS)), CHANGES, made.type, "e", made.key, made.body, 0)

    def take(self, *memories: bytes) -> dict[str, int]:
        return dict(self.driven.take(*(self.hint(memory) for memory in memories)).counts)

    def points(self) -> set[tuple[bytes, int]]:
        return {(point.memory, point.version) for page in self.index.scroll(self.handle) for point in page}

    def ledger(self) -> list[tuple[bytes, int, str]]:
        rows = self.conn.execute("SELECT memory, version, state FROM vectors ORDER BY version").fetchall()
        self.conn.commit()
        return rows

    def search(self, text: str) -> list[bytes]:
        vector = turn(self.keys, embedder(self.settings).embed_query(text))
        return [hit.memory for hit in self.index.search(self.tenant, self.handle, vector, limit=5)]

    @property
    def indexer(self) -> Indexer:
        consumer = self.driven.consumer
        assert isinstance(consumer, Indexer)
        return consumer

    def lapse(self) -> None:
        self.run("UPDATE vectors SET lease_until = now() - interval '1 second' WHERE state <> 'written'")

    def tick(self) -> None:
        self.indexer.tick(self.driven.tx)
        self.driven.tx.commit()
        self.indexer.after_tick()

    def agrees(self) -> bool:
        """Index and truth are equal, and every intent is closed."""
        wanted = self.conn.execute(
            "SELECT m.id, m.version FROM memories m JOIN subjects s ON s.handle = m.handle AND s.epoch = m.epoch"
            " WHERE m.status = 'active'"
        ).fetchall()
        self.conn.commit()
        found = {(point.memory, point.version) for page in self.index.scroll() for point in page}
        return found == set(wanted) and drift(self.settings) == [] and all(s == "written" for *_, s in self.ledger())


@pytest.fixture
def world(fresh_settings: Settings) -> Iterator[World]:
    index = VectorIndex(fresh_settings)
    index.ensure(384)
    index.drop()
    driven = Driven(Indexer(fresh_settings), fresh_settings)
    conn = connect(fresh_settings.database)
    made = World(fresh_settings, driven, conn, index)
    made.begin()
    yield made
    conn.close()
    driven.close()
    index.close()


class Killed(Exception):
    """Stands for SIGKILL: nothing after it runs."""


def dying(call: Callable[..., Any], before: bool) -> Callable[..., Any]:
    def die(*args: Any, **kwargs: Any) -> None:
        if not before:
            call(*args, **kwargs)
        raise Killed

    return die


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


# Killed, late, moved


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


# The sweeper


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
