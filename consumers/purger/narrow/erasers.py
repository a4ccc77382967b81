"""The erasers of a narrow selector: they know items, not a whole handle, and claim `absent` at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redis import Redis

from consumers.purger.narrow.cut import left
from consumers.purger.narrow.items import SQL, Items
from schemas import datamap
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.errors import TransientError
from schemas.words import LineStatus, Property, SelectorKind
from stores.cache import drop, entry_of, names_key, translated
from stores.database import translate
from stores.erasers.tables import Link
from stores.vault import Vault
from stores.vectors import VectorIndex
from stores.windows import WindowStore

_ABSENT = frozenset({Property.ABSENT})
_BY_CONTENT = (SelectorKind.MEMORY, SelectorKind.KEY, SelectorKind.NAMESPACE)
_OPEN = "SELECT count(*) FROM vectors WHERE point = ANY(%s) AND state = 'intent' AND lease_until > now()"
_LEDGER = "SELECT count(*) FROM vectors WHERE point = ANY(%s)"
_DELETE = "DELETE FROM vectors WHERE point = ANY(%s)"
_GENERATIONS = "SELECT handle, generation FROM subjects WHERE handle = ANY(%s)"


def items_of(link: Link, scope: Scope) -> tuple[Items, dict[str, int]]:
    """Read which items an erasure has taken so far, and how many rows of each table went with them."""
    with translate():
        row = link().execute(SQL.items, (scope.erasure,)).fetchone()
    kept = (row[0] if row else None) or {}
    return Items.from_json(kept.get("ids", {})), dict(kept.get("counts", {}))


def whose(link: Link, scope: Scope) -> list[bytes]:
    """The handles whose items these are: many people's where time ends them, else the erasure's own person's."""
    items, _ = items_of(link, scope)
    return sorted(items.handles) if items.handles else [scope.handle] if scope.handle is not None else []


class RowsEraser:
    """The rows went in the transaction that found them; here they are counted and looked for."""

    name = "postgres"
    version = "1"

    def __init__(self, observing: Link) -> None:
        """Take the connection to look by."""
        self._link = observing

    def properties(self) -> Properties:
        """The subject's key lives on, so bytes in old pages stay readable until they are reused."""
        return Properties(_ABSENT, _ABSENT)

    def plan(self, scope: Scope) -> Plan:
        """Give the rows that were deleted."""
        _, counts = items_of(self._link, scope)
        return Plan(scope, {e.name: counts.get(e.place, 0) for e in datamap.of(self.name)})

    def erase(self, plan: Plan) -> None:
        """Nothing is left to do."""

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Look for every item again, in another session."""
        items, counts = items_of(self._link, scope)
        with translate():
            there = left(self._link(), whose(self._link, scope), items)
        return [
            self._seen(scope, entry.name, entry.place, there.get(entry.place, 0), counts)
            for entry in datamap.of(self.name)
        ]

    def _seen(self, scope: Scope, entry: str, table: str, remaining: int, counts: dict[str, int]) -> Observation:
        if table == "turns" and scope.kind in _BY_CONTENT and counts.get("sources"):
            return Observation(
                entry,
                0,
                frozenset(),
                "what was said stays; its message is tombstoned, so nothing comes from it again",
                LineStatus.RETAINED,
                reason="source_kept",
            )
        proven = frozenset() if remaining else _ABSENT
        return Observation(entry, remaining, proven, "rows deleted by id; looked for again in another session")


class SomePointsEraser:
    """Deletes the points of the memories that go."""

    name = "vectors"
    version = "1"

    def __init__(self, index: VectorIndex, link: Link) -> None:
        """Take the index and a connection."""
        self._index = index
        self._link = link

    def properties(self) -> Properties:
        """Segments keep the vector until they are rebuilt, and the key lives on."""
        return Properties(_ABSENT, _ABSENT)

    def plan(self, scope: Scope) -> Plan:
        """Count the points that were in the ledger."""
        items, _ = items_of(self._link, scope)
        count = len(items.points)
        return Plan(scope, {"qdrant.memories": count, "postgres.vectors": count})

    def erase(self, plan: Plan) -> None:
        """Delete by id, see that they are gone, then drop the ledger's rows."""
        points = self._points(plan.scope)
        with translate():
            row = self._link().execute(_OPEN, (points,)).fetchone()
        if row and row[0]:
            raise TransientError("an indexer's intent for an erased memory is still open")
        for chunk in _chunks(points):
            self._index.delete(chunk)
            if self._index.existing(chunk):
                raise TransientError("the index still has points of erased memories")
        with translate():
            self._link().execute(_DELETE, (points,))

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Ask for each point and each row of the ledger."""
        points = self._points(scope)
        there = sum(len(self._index.existing(chunk)) for chunk in _chunks(points))
        with translate():
            row = self._link().execute(_LEDGER, (points,)).fetchone()
        rows = int(row[0]) if row else 0
        return [
            _plain("qdrant.memories", there, "points deleted by id and asked for by id"),
            _plain("postgres.vectors", rows, "ledger rows deleted after their points"),
        ]

    def _points(self, scope: Scope) -> list[bytes]:
        return sorted(items_of(self._link, scope)[0].points)


class SomeCacheEraser:
    """Deletes the copies that lineage led to, cached recalls of an older generation, windows with an erased turn.

    The second way is the one to look by: it opens what is there and asks no record.
    """

    name = "redis"
    version = "1"

    def __init__(self, client: Redis, vault: Vault, link: Link) -> None:
        """Take the cache, the vault to open windows with, and a connection."""
        self._client = client
        self._windows = WindowStore(client)
        self._vault = vault
        self._link = link

    def properties(self) -> Properties:
        """Deleted keys are gone for every reader."""
        return Properties(_ABSENT, _ABSENT)

    def plan(self, scope: Scope) -> Plan:
        """Count what would go."""
        windows, cached = self._named(scope)
        return Plan(
            scope,
            {
                "redis.windows": len(windows | set(self._holding(scope))),
                "redis.cache": len(cached | set(self._outdated(scope))),
                "redis.names": 0,
            },
        )

    def erase(self, plan: Plan) -> None:
        """Delete them; windows are merged anew from the event log."""
        windows, cached = self._named(plan.scope)
        found = {*windows, *cached, *self._holding(plan.scope), *self._outdated(plan.scope)}
        for chunk in _chunks(sorted(found)):
            with translated():
                drop(self._client, *(key.decode("ascii") for key in chunk))

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Open every window again, and look at every cached recall's generation."""
        windows, cached = len(list(self._holding(scope))), len(list(self._outdated(scope)))
        return [
            _plain("redis.windows", windows, "windows opened again; none holds an erased turn"),
            _plain("redis.cache", cached, "recalls of an older generation deleted"),
            _plain("redis.names", 0, "names deleted with their keys"),
        ]

    def _keys(self, scope: Scope, prefix: str) -> Iterator[bytes]:
        """Keys of whom the erasure is about, by the names noted with each write."""
        pipe = self._client.pipeline(transaction=False)
        for handle in whose(self._link, scope):
            pipe.zrange(names_key(handle), 0, -1)
        with translated():
            noted: list[list[bytes]] = pipe.execute()
        for names in noted:
            yield from (name for name in names if name.startswith(prefix.encode() + b":"))

    def _named(self, scope: Scope) -> tuple[set[bytes], set[bytes]]:
        """Windows and cached recalls that lineage led to and that are there."""
        items, _ = items_of(self._link, scope)
        wanted = {"window": items.windows, "recall": items.cached}
        windows, cached = (
            {key for key in self._keys(scope, prefix) if entry_of(key.decode()) in ids} if ids else set()
            for prefix, ids in wanted.items()
        )
        return windows, cached

    def _holding(self, scope: Scope) -> Iterator[bytes]:
        items, _ = items_of(self._link, scope)
        turns = {turn.hex() for turn in items.turns | items.logged}
        if not turns:
            return
        keys = self._vault.data_keys(whose(self._link, scope), missing_ok=True)
        for key in self._keys(scope, "window"):
            _, handle, epoch, conversation = key.decode("ascii").split(":")
            own = keys.get(bytes.fromhex(handle))
            window = self._windows.read(own, int(epoch), bytes.fromhex(conversation)) if own else None
            # One that does not open cannot be shown not to hold the turn.
            if window is None or any(turn.id in turns for turn in window):
                yield key

    def _outdated(self, scope: Scope) -> Iterator[bytes]:
        items, _ = items_of(self._link, scope)
        if items.handles and not items.memories:
            # Time took candidates or turns; kept answers show memories.
            return
        with translate():
            rows = self._link().execute(_GENERATIONS, (whose(self._link, scope),)).fetchall()
        now = {handle.hex().encode(): generation for handle, generation in rows}
        for key in self._keys(scope, "recall"):
            _, handle, _, generation, _ = key.split(b":")
            if handle not in now or int(generation) < now[handle]:
                yield key


def _plain(entry: str, remaining: int, method: str) -> Observation:
    return Observation(entry, remaining, frozenset() if remaining else _ABSENT, method)


def _chunks(items: list[bytes], size: int = 500) -> Iterator[list[bytes]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
