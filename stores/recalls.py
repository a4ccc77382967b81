"""Cached recalls in Redis: sealed bytes under a key, for a short while."""

from __future__ import annotations

from typing import cast

from redis import Redis

from stores.cache import drop, entry_of, keep, translated
from stores.copies import Recorded


class RecallStore:
    """Reads and writes what is sealed elsewhere; every method raises `PartUnavailable` where Redis does not answer."""

    def __init__(self, client: Redis) -> None:
        """Take a client whose answers are bytes."""
        self._client = client

    def read(self, key: str) -> bytes | None:
        """What lies under a key, None where there is nothing."""
        with translated():
            return cast("bytes | None", self._client.get(key))

    def write(self, key: str, sealed: bytes, milliseconds: int, recorded: Recorded) -> None:
        """Keep something for a time.

        Raises:
            Refused: nobody has recorded what it was made from.
        """
        recorded.require(entry_of(key))
        with translated():
            keep(self._client, key, sealed, milliseconds)

    def drop(self, key: str) -> None:
        """Take something away."""
        with translated():
            drop(self._client, key)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
