"""A subject with memories, and the indexer on real parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from consumers.indexer.consumer import Indexer
from consumers.indexer.sweep import drift
from schemas.events import Change
from schemas.settings import Settings
from schemas.topics import CHANGES
from schemas.words import MemoryStatus
from stores.database import Connection
from stores.embeddings import embedder
from stores.memories import namespace_hashes
from stores.rotation import turn
from stores.subjects import ensure_subjects
from stores.vault import open_vault
from stores.vectors import VectorIndex
from streams.codec import Position, Record, message
from tests.integration.driven import Driven

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


class Killed(Exception):
    """Stands for SIGKILL: nothing after it runs."""


def dying(call: Callable[..., Any], before: bool) -> Callable[..., Any]:
    def die(*args: Any, **kwargs: Any) -> None:
        if not before:
            call(*args, **kwargs)
        raise Killed

    return die
