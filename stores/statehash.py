"""A digest of what the tables say, by content: equal for two runs with other keys, ids and times.

Ids are keyed hashes and differ from run to run, so every id is replaced by the digest of what it
names. The sum does not depend on the order of rows, and repeats count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import orjson

from schemas.errors import KeyMissing
from stores.database import Connection, translate
from stores.sealing import SubjectKeys
from stores.sql import load
from stores.vault import Vault

_SQL = load("stores", "statehash.sql")
_ROOM = 1 << 256
_PAGE = 2000


def state_hash(conn: Connection, vault: Vault) -> str:
    """Return 64 hex digits; rows of erased subjects and rows about processing are left out."""
    return _Reader(conn, vault).run()


class _Reader:
    """Reads the tables parents first, so that what an id names is known when a child names it."""

    def __init__(self, conn: Connection, vault: Vault) -> None:
        self._conn = conn
        self._vault = vault
        self._names: dict[bytes, str] = {}
        self._people: dict[bytes, str] = {}
        self._keys: dict[bytes, SubjectKeys] = {}
        self._sum = 0

    def run(self) -> str:
        with translate():
            self._subjects()
            for kind in ("turns", "controls", "candidates", "memories"):
                self._named(kind)
            for kind in ("decisions", "memory_versions", "sources", "lineage", "vectors", "refusals"):
                self._others(kind)
        return f"{self._sum:064x}"

    def _subjects(self) -> None:
        rows = self._rows("subjects")
        self._keys = self._vault.data_keys([row[1] for row in rows if row[1]], missing_ok=True)
        for ref, handle, body, *rest in rows:
            keys = self._keys.get(handle)
            if keys is None or body is None:
                continue
            who = keys.open(ref, body).decode()
            self._people[handle] = self._people[ref] = _digest(["who", who])
            self._add(["subject", who, *rest])

    def _named(self, table: str) -> None:
        pending = []
        for name, handle, body, *rest in self._pages(table):
            words = self._words(table, handle, body, (name,), rest)
            if words is not None:
                self._names[name] = _digest(words)
                pending.append((words, rest))
        for words, _ in pending:
            self._add(words)

    def _others(self, table: str) -> None:
        for handle, body, opener, *rest in self._pages(table):
            words = self._words(table, handle, body, (opener,), rest)
            if words is not None:
                self._add(words)

    def _words(
        self, table: str, handle: bytes, body: bytes | None, openers: tuple[bytes, ...], rest: list[Any]
    ) -> list[Any] | None:
        keys = self._keys.get(handle)
        if keys is None:
            return None
        return [
            table,
            self._people.get(handle),
            self._content(keys, openers, body),
            [self._plain(value) for value in rest],
        ]

    def _content(self, keys: SubjectKeys, openers: tuple[bytes, ...], body: bytes | None) -> Any:
        if body is None:
            return None
        try:
            return self._plain(orjson.loads(keys.open(openers[0], body)))
        except KeyMissing:
            return "unreadable"

    def _plain(self, value: Any) -> Any:
        """Replace ids by what they name; what is named by nothing known is left out."""
        if isinstance(value, bytes):
            return self._names.get(value) or self._people.get(value) or ""
        if isinstance(value, str) and len(value) == 32:
            try:
                return self._plain(bytes.fromhex(value))
            except ValueError:
                return value
        if isinstance(value, dict):
            return {key: self._plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(inner) for inner in value]
        return value

    def _add(self, words: list[Any]) -> None:
        self._sum = (self._sum + int(_digest(words), 16)) % _ROOM

    def _rows(self, name: str) -> list[tuple[Any, ...]]:
        return self._conn.execute(getattr(_SQL, name)).fetchall()

    def _pages(self, name: str) -> Iterator[tuple[Any, ...]]:
        with self._conn.transaction(), self._conn.cursor(name=f"hash_{name}") as cursor:
            cursor.itersize = _PAGE
            cursor.execute(getattr(_SQL, name))
            yield from cursor


def _digest(words: Any) -> str:
    data = orjson.dumps(words, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    return hashlib.sha256(data).hexdigest()
