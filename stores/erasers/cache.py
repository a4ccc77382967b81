"""Erases session windows and cached recalls from Redis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from redis import Redis
from redis.exceptions import RedisError

from schemas import datamap
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.errors import PartUnavailable
from schemas.words import Property
from stores.cache import handle_pattern

# Keys asked for in one step of a scan: large enough that a million keys take a second,
# small enough that the server stays responsive between steps.
_STEP = 2000


class CacheEraser:
    """Deletes every key of a handle; keys name it, so no value has to be read."""

    name = "redis"
    version = "1"

    def __init__(self, client: Redis) -> None:
        """Take the client of the cache."""
        self._client = client
        # The first word of a key pattern is the class of copies.
        self._prefixes = {entry.place.split(":")[0]: entry.name for entry in datamap.of(self.name)}

    def properties(self) -> Properties:
        """Deleted keys are gone for every reader; an append-only file keeps sealed bytes a while."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.SHREDDED})
        return Properties(can, can)

    def plan(self, scope: Scope) -> Plan:
        """Count the handle's keys by class."""
        counts = dict.fromkeys(self._prefixes.values(), 0)
        if scope.handle is None:
            return Plan(scope, counts)
        with _translated():
            for prefix, entry in self._prefixes.items():
                counts[entry] = sum(1 for _ in self._keys(prefix, scope.handle))
        return Plan(scope, counts)

    def erase(self, plan: Plan) -> None:
        """Delete by pattern, in chunks."""
        handle = plan.scope.handle
        if handle is None:
            return
        with _translated():
            for prefix in self._prefixes:
                for chunk in _chunks(self._keys(prefix, handle)):
                    self._client.delete(*chunk)

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Walk over all keys there are and look for the handle in each, whatever its class."""
        left = dict.fromkeys(self._prefixes.values(), 0)
        if scope.handle is not None:
            needle = scope.handle.hex().encode()
            with _translated():
                for key in self._client.scan_iter(count=_STEP):
                    if needle in key:
                        entry = self._prefixes.get(key.split(b":")[0].decode(), "redis.cache")
                        left[entry] += 1
        return [
            Observation(
                entry,
                count,
                frozenset() if count else frozenset({Property.ABSENT}),
                "keys deleted by pattern; all keys walked and none names the handle",
            )
            for entry, count in left.items()
        ]

    def _keys(self, prefix: str, handle: bytes) -> Iterator[bytes]:
        return self._client.scan_iter(match=handle_pattern(prefix, handle), count=_STEP)


def _chunks(keys: Iterator[bytes], size: int = 500) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    for key in keys:
        chunk.append(key)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise PartUnavailable(f"Redis: {type(error).__name__}") from None
