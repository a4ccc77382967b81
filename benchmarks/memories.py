"""Active memories written straight into the stores, as resolver and indexer would leave them; for figures and tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from schemas.records import Content
from schemas.settings import Settings
from schemas.words import MemoryStatus, MemoryType, Polarity, Sensitivity, SourceType, Visibility
from stores.database import Connection, connect
from stores.embeddings import Embedder, embedder
from stores.memories import embedding_text, namespace_hashes, point_id
from stores.rotation import turn_each
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow, ensure_subjects, load_by_ref
from stores.vault import Vault, open_vault
from stores.vector_points import Point
from stores.vectors import VectorIndex

_MEMORY = """
INSERT INTO memories (id, subject, tenant, handle, epoch, identity, value_digest, version, status, type, polarity,
    source_type, sensitivity, visibility, namespaces, confidence, importance, explicit, turn_row, valid_from, valid_to,
    expires_at, indexed_version, body)
VALUES (%s, %s, %s, %s, %s, %s, %s, 1, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, %s, %s, %s, 1, %s)
"""
_SOURCE = "INSERT INTO sources (memory, candidate, turn, handle, author, at, body) VALUES (%s, %s, %s, %s, %s, %s, %s)"
_LINEAGE = "INSERT INTO lineage VALUES ('memory', %s, 'decision', %s, %s) ON CONFLICT DO NOTHING"
_VECTOR = "INSERT INTO vectors VALUES (%s, %s, 1, %s, %s, 'written', now()) ON CONFLICT DO NOTHING"
_EDGE = "INSERT INTO lineage VALUES ('vector', %s, 'memory', %s, %s) ON CONFLICT DO NOTHING"
_PAGE = 500


@dataclass(frozen=True)
class Seed:
    """One memory to be."""

    subject: str
    key: str
    value: str
    namespace: str = "preferences"
    conditions: tuple[str, ...] = ()
    scope: str = "global"
    type: MemoryType = MemoryType.PREFERENCE
    polarity: Polarity = Polarity.POSITIVE
    status: MemoryStatus = MemoryStatus.ACTIVE
    sensitivity: Sensitivity = Sensitivity.NONE
    confidence: float = 0.9
    importance: float = 0.6
    explicit: bool = False
    valid_from: datetime = field(default_factory=lambda: datetime.now(UTC))
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    tenant: str = "default"
    indexed: bool = True


class Loader:
    """Writes seeds; gives the id of each memory."""

    def __init__(self, settings: Settings) -> None:
        """Open the stores and make the index."""
        self.vault: Vault = open_vault(settings)
        self.connection: Connection = connect(settings.database)
        self.embedder: Embedder = embedder(settings)
        self.index = VectorIndex(settings)
        self.index.ensure(self.embedder.dim)

    def load(self, seeds: Sequence[Seed]) -> list[bytes]:
        """Write all, in pages."""
        pairs = {(seed.tenant, seed.subject) for seed in seeds}
        refs = ensure_subjects(self.connection, self.vault, pairs)
        rows = load_by_ref(self.connection, refs.values())
        self.connection.commit()
        ids: list[bytes] = []
        for start in range(0, len(seeds), _PAGE):
            page = seeds[start : start + _PAGE]
            ids += self._page([(seed, rows[refs[seed.tenant, seed.subject]]) for seed in page])
        return ids

    def _page(self, page: Sequence[tuple[Seed, SubjectRow]]) -> list[bytes]:
        keys = self.vault.data_keys({row.handle or b"" for _, row in page})
        made = [self._rows(seed, row, keys[row.handle or b""]) for seed, row in page]
        with self.connection.cursor() as cursor:
            cursor.executemany(_MEMORY, [memory for memory, _ in made])
            cursor.executemany(_SOURCE, [source for _, source in made])
            cursor.executemany(_LINEAGE, [(source[0], source[1], source[3]) for _, source in made])
        self.connection.commit()
        indexed = [(seed, row, memory[0]) for (seed, row), (memory, _) in zip(page, made, strict=True) if seed.indexed]
        points = self.put(indexed, keys)
        with self.connection.cursor() as cursor:
            cursor.executemany(_VECTOR, [(point.id, point.memory, point.handle, point.epoch) for point in points])
            cursor.executemany(_EDGE, [(point.id, point.memory, point.handle) for point in points])
        self.connection.commit()
        return [memory[0] for memory, _ in made]

    def put(self, entries: Iterable[tuple[Seed, SubjectRow, bytes]], keys: dict[bytes, SubjectKeys]) -> list[Point]:
        """Write points for memories, by whatever subject they are said to be of."""
        rows = list(entries)
        whose = [keys[row.handle or b""] for _, row, _ in rows]
        vectors = self.embedder.embed_passages([embedding_text(asdict(_content(seed))) for seed, _, _ in rows])
        points = [_point(seed, row, key, memory) for (seed, row, memory), key in zip(rows, whose, strict=True)]
        self.index.upsert(points, turn_each(whose, vectors))
        return points

    def _rows(self, seed: Seed, row: SubjectRow, keys: SubjectKeys) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        content = _content(seed)
        candidate = keys.id("candidate", seed.namespace, seed.key, seed.value, seed.status, *seed.conditions)
        memory = keys.id("memory", candidate)
        body = keys.seal(memory, orjson.dumps(asdict(content)))
        identity = keys.identity(seed.namespace, seed.key, *seed.conditions, seed.scope)
        source = {"conversation": "c-1", "message_id": f"m-{candidate.hex()[:8]}", "quote": seed.value}
        source_row = (
            memory,
            candidate,
            candidate,
            row.handle,
            row.ref,
            seed.valid_from,
            keys.seal(candidate, orjson.dumps(source)),
        )
        return (
            memory, row.ref, row.tenant, row.handle, row.epoch, identity, keys.digest("value", seed.value),
            seed.status, seed.type, seed.polarity, SourceType.USER_STATED, seed.sensitivity, Visibility.PRIVATE,
            list(namespace_hashes(keys, seed.namespace)),
            seed.confidence, seed.importance, seed.explicit, seed.valid_from, seed.valid_to, seed.expires_at, body,
        ), source_row  # fmt: skip

    def close(self) -> None:
        """Close the stores."""
        self.connection.close()
        self.index.close()
        self.vault.close()


def _content(seed: Seed) -> Content:
    return Content(seed.namespace, seed.key, seed.value, seed.value, seed.conditions, seed.scope)


def _point(seed: Seed, row: SubjectRow, keys: SubjectKeys, memory: bytes) -> Point:
    return Point(
        id=point_id(keys, memory, 1),
        memory=memory,
        version=1,
        tenant=row.tenant,
        handle=row.handle or b"",
        epoch=row.epoch,
        namespaces=namespace_hashes(keys, seed.namespace),
        type=seed.type,
        sensitivity=seed.sensitivity,
        visibility=Visibility.PRIVATE,
        expires_at=seed.expires_at,
    )
