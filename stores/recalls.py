"""Cached recalls in Redis: sealed bytes under a key, for a short while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from schemas.errors import PartUnavailable
from stores.cache import drop, keep, recall_entry
from stores.copies import Recorded


class RecallStore:
    """Reads and writes what is sealed elsewhere; every method raises `PartUnavailable` where Redis does not answer."""

    def __init__(self, client: Redis) -> None:
        """Take a client whose answers are bytes."""
        self._client = client

    def read(self, key: str) -> bytes | None:
        """What lies under a key, None where there is nothing."""
        with _translated():
            return cast("bytes | None", self._client.get(key))

    def write(self, key: str, sealed: bytes, milliseconds: int, recorded: Recorded) -> None:
        """Keep something for a time.

        Raises:
            Refused: nobody has recorded what it was made from.
        """
        recorded.require(recall_entry(key))
        with _translated():
            keep(self._client, key, sealed, milliseconds)

    def drop(self, key: str) -> None:
        """Take something away."""
        with _translated():
            drop(self._client, key)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise PartUnavailable(f"Redis: {type(error).__name__}") from None
