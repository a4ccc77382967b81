"""Erases session windows and cached recalls from Redis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

from redis import Redis

from schemas import datamap
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.errors import TransientError
from schemas.words import Property
from stores.cache import handle_pattern, names_key, translated

# Keys asked for in one step of a scan: large enough that a million keys take a second,
# small enough that the server stays responsive between steps.
_STEP = 2000
_CHUNK = 500
_NAMES = "redis.names"
_METHOD = "keys deleted by the names noted with each write and asked for again; no name is left"


class CacheEraser:
    """Deletes every key that was noted when it was written, so that a handle costs what it has, not what all have.

    What somebody wrote past `stores.cache.keep` is found by the sweep, which walks over all keys there are.
    """

    name = "redis"
    version = "2"

    def __init__(self, client: Redis) -> None:
        """Take the client of the cache."""
        self._client = client
        # The first word of a key pattern is the class of copies.
        self._prefixes = {entry.place.split(":")[0].encode(): entry.name for entry in datamap.of(self.name)}

    def properties(self) -> Properties:
        """Deleted keys are gone for every reader; an append-only file keeps sealed bytes a while."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.SHREDDED})
        return Properties(can, can)

    def plan(self, scope: Scope) -> Plan:
        """Count the handle's keys by class."""
        return Plan(scope, self._counts(scope))

    def erase(self, plan: Plan) -> None:
        """Delete in chunks, see that none is left, and only then the notes that lead to them.

        Raises:
            TransientError: a key that was deleted is there.
        """
        scope = plan.scope
        if scope.handle is None:
            return
        names = names_key(scope.handle)
        with translated():
            for chunk in _chunks(self._keys(scope, scope.handle)):
                self._client.delete(*chunk)
                if self._client.exists(*chunk):
                    raise TransientError("a deleted key of an erased handle is there")
                self._client.zrem(names, *chunk)

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Look for notes of the handle's keys."""
        return [
            Observation(entry, left, frozenset() if left else frozenset({Property.ABSENT}), _METHOD)
            for entry, left in self._counts(scope).items()
        ]

    def _counts(self, scope: Scope) -> dict[str, int]:
        counts = dict.fromkeys(self._prefixes.values(), 0)
        if scope.handle is None:
            return counts
        with translated():
            names = self._noted(scope.handle)
        found = Counter(self._prefixes[name.split(b":")[0]] for name in names)
        return counts | dict(found) | {_NAMES: int(bool(names))}

    def _noted(self, handle: bytes) -> list[bytes]:
        return cast("list[bytes]", self._client.zrange(names_key(handle), 0, -1))

    def _keys(self, scope: Scope, handle: bytes) -> Iterator[bytes]:
        yield from self._noted(handle)
        if not scope.erasure:
            # A sweep has met it by walking: it may never have been noted.
            for prefix in self._prefixes:
                yield from self._client.scan_iter(match=handle_pattern(prefix.decode(), handle), count=_STEP)


def _chunks(keys: Iterator[bytes]) -> Iterator[list[bytes]]:
    while chunk := list(islice(keys, _CHUNK)):
        yield chunk
