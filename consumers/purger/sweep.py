"""Finds what lies under a handle that no subject holds: it came back, or was never taken away.

The index has a sweep of its own, by the indexer, which alone may say what belongs there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from psycopg import sql

from consumers.purger.registry import Parts
from schemas import datamap
from schemas.datamap import Entry, Store
from schemas.eraser import Scope
from schemas.words import SelectorKind
from stores.database import translate

_HELD = "SELECT handle FROM subjects WHERE handle = ANY(%s)"
# Of an erasure under way this is not news.
_UNDER_WAY = """
SELECT handle, kind FROM erasures WHERE state NOT IN ('verified', 'final', 'cancelled')
"""
_STRANGERS = """
SELECT t.handle, count(*) FROM {table} AS t
WHERE NOT EXISTS (SELECT 1 FROM subjects AS s WHERE s.handle = t.handle) GROUP BY t.handle
"""
_YOUNG_SECONDS = 3600
"""A key is drawn before its subject's row is there; a younger one without a row is no stray."""


@dataclass(frozen=True, slots=True)
class Stray:
    """So many items of one map entry under a handle that nobody holds."""

    entry: str
    handle: bytes
    count: int


def strays(parts: Parts) -> list[Stray]:
    """Look through tables, cache and vault; costs grow with all that there is."""
    with translate():
        found = [*_in_tables(parts), *_in_cache(parts), *_in_vault(parts)]
        # Asked afterwards: what was blocked meanwhile is no stray.
        rows = parts.observing().execute(_UNDER_WAY).fetchall()
    under_way = {handle for handle, _ in rows}
    if any(kind == "tenant" for _, kind in rows):
        # Its handles are known to the vault alone; the next sweep will do.
        return []
    return [stray for stray in found if stray.handle not in under_way]


def erase(parts: Parts, found: list[Stray]) -> None:
    """Send each stray handle through every eraser, keys last."""
    for handle in sorted({stray.handle for stray in found}):
        scope = Scope(b"", SelectorKind.SUBJECT, b"", None, handle=handle, blocked=True)
        for eraser in parts.erasers():
            eraser.erase(eraser.plan(scope))


def _in_tables(parts: Parts) -> Iterator[Stray]:
    for entry in datamap.ENTRIES:
        if entry.store is Store.POSTGRES and entry.place != "subjects":
            query = sql.SQL(_STRANGERS).format(table=sql.Identifier(entry.place))
            for handle, count in parts.observing().execute(query).fetchall():
                yield Stray(entry.name, handle, count)


def _in_cache(parts: Parts) -> Iterator[Stray]:
    for entry in datamap.of("redis"):
        counts = Counter(_handles(parts, entry))
        for handle in _unheld(parts, list(counts)):
            yield Stray(entry.name, handle, counts[handle])


def _handles(parts: Parts, entry: Entry) -> Iterator[bytes]:
    prefix = entry.place.split(":")[0]
    for key in parts.redis.scan_iter(match=f"{prefix}:*", count=2000):
        try:
            yield bytes.fromhex(key.split(b":")[1].decode("ascii"))
        except (IndexError, ValueError):
            continue


def _in_vault(parts: Parts) -> Iterator[Stray]:
    page: list[bytes] = []
    for handle in parts.vault.handles(older_than=_YOUNG_SECONDS):
        page.append(handle)
        if len(page) == 1000:
            yield from (Stray("vault.keys", stray, 1) for stray in _unheld(parts, page))
            page = []
    yield from (Stray("vault.keys", stray, 1) for stray in _unheld(parts, page))


def _unheld(parts: Parts, handles: list[bytes]) -> list[bytes]:
    """Those that no subject holds, asked after they were seen: a row comes before what it names."""
    if not handles:
        return []
    held = {row[0] for row in parts.observing().execute(_HELD, (handles,)).fetchall()}
    return [handle for handle in handles if handle not in held]
