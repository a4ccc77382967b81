"""Reads what the stores say of hinted memories: words to embed before the lock, rows under it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import orjson

from consumers.indexer.model import Embedded, Entry, Hint, Memory, Ready, State
from schemas.words import MemoryType, Sensitivity, Visibility
from stores.database import Connection
from stores.embeddings import Embedder
from stores.memories import embedding_text, point_id
from stores.rotation import turn_each
from stores.sql import load
from stores.subjects import load_by_handle, lock_handles
from stores.vault import Vault

_SQL = load("consumers.indexer", "queries.sql")
Row = tuple[Any, ...]
"""Columns in the order of the query."""


def bodies(tx: Connection, hints: Iterable[Hint]) -> list[Row]:
    """Read the sealed bodies of hinted memories that the index does not hold in their current version."""
    ids = _ids(hints)
    return tx.execute(_SQL.bodies, (ids,)).fetchall() if ids else []


def embed(vault: Vault, embedder: Embedder, rows: Sequence[Row]) -> dict[bytes, Embedded]:
    """Open bodies, embed their words and turn the vectors.

    Raises:
        KeyMissing: the vault has no key for a live handle.
    """
    if not rows:
        return {}
    keys = vault.data_keys({handle for _, handle, _, _ in rows})
    owners = [keys[handle] for _, handle, _, _ in rows]
    opened = zip(owners, rows, strict=True)
    texts = [embedding_text(orjson.loads(key.open(memory, body))) for key, (memory, _, _, body) in opened]
    vectors = turn_each(owners, np.asarray(embedder.embed_passages(texts), np.float32))
    return {
        memory: Embedded(version, point_id(key, memory, version), vector)
        for key, (memory, _, version, _), vector in zip(owners, rows, vectors, strict=True)
    }


def look(tx: Connection, ready: Ready) -> State:
    """Lock the subjects and read memories and ledger."""
    ids = _ids(ready.hints)
    if not ids:
        return State({}, {}, {})
    # Which memory is whose never changes, so it may be asked before the lock.
    handles = {row[0] for row in tx.execute(_SQL.handles, {"ids": ids}).fetchall()}
    handles |= {hint.handle for hint in ready.hints if hint.handle}
    lock_handles(tx, handles)
    subjects = load_by_handle(tx, handles)
    memories = [_memory(row) for row in tx.execute(_SQL.memories, (ids,)).fetchall()]
    ledger: defaultdict[bytes, list[Entry]] = defaultdict(list)
    for row in tx.execute(_SQL.ledger, (ids,)).fetchall():
        ledger[row[1]].append(Entry(*row))
    return State(subjects, {memory.id: memory for memory in memories}, ledger)


def _ids(hints: Iterable[Hint]) -> list[bytes]:
    return list({hint.memory for hint in hints if hint.memory is not None})


def _memory(row: Row) -> Memory:
    return Memory(*row[:7], *_words(row), *row[10:])


def _words(row: Row) -> tuple[Any, ...]:
    return MemoryType(row[7]), Sensitivity(row[8]), Visibility(row[9])
