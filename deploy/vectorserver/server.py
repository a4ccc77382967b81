"""The collections of one data folder, and when their background work runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from pathlib import Path

from deploy.vectorserver import aside
from deploy.vectorserver.collection import Collection
from deploy.vectorserver.errors import QdrantError, bad_request, no_collection
from deploy.vectorserver.filters import Json

logger = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
_TICK = 0.1
_FLUSH_EVERY = 5.0
_REST_AFTER_REBUILD = 5.0
"""A rebuild stops all answers, so it takes at most one part in so many plus one of the time."""
_REST_AFTER_ASIDE = 30.0
"""Seconds between two that begin: each reads and writes the whole collection once."""
_CALM_SECONDS, _BUSY_SECONDS = 3.0, 30.0
"""It begins once nothing was deleted for so long, or while deletions go on, after this: a burst needs one, not many."""
ASIDE_ABOVE = 20_000
"""Collections of more points than this are rebuilt aside."""


class Collections:
    """All open collections, by name."""

    def __init__(self, folder: Path, aside_above: int = ASIDE_ABOVE) -> None:
        """Open what the folder holds."""
        self._folder, self._aside_above = folder, aside_above
        self._aside: dict[str, asyncio.Task[None]] = {}
        self._rest_until = 0.0
        folder.mkdir(parents=True, exist_ok=True)
        paths = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        self.open = {path.name: Collection(path) for path in paths}

    def get(self, name: str) -> Collection:
        """Give an open collection."""
        try:
            return self.open[name]
        except KeyError:
            raise no_collection(name) from None

    def create(self, name: str, request: Json) -> None:
        """Make a collection that is not there."""
        if not _NAME.fullmatch(name):
            raise bad_request(f"collection names are letters, digits, `_` and `-`: {name}")
        if name in self.open:
            raise QdrantError(409, f"Wrong input: Collection `{name}` already exists!")
        self.open[name] = Collection.create(self._folder / name, request)

    def delete(self, name: str) -> bool:
        """Remove a collection; tell whether there was one."""
        collection = self.open.pop(name, None)
        if collection is None:
            return False
        collection.destroy()
        return True

    def close(self) -> None:
        """Close all in good order."""
        for collection in self.open.values():
            collection.close()

    async def background(self) -> None:
        """Flush and rebuild until cancelled."""
        loop = asyncio.get_running_loop()
        last_flush = loop.time()
        self._rest_until = last_flush
        try:
            while True:
                await asyncio.sleep(_TICK)
                for name, collection in list(self.open.items()):
                    self._rebuild(name, collection, loop.time())
                if loop.time() - last_flush >= _FLUSH_EVERY:
                    for collection in self.open.values():
                        if collection.unflushed:
                            collection.flush()
                    last_flush = loop.time()
        finally:
            for task in self._aside.values():
                task.cancel()
            await asyncio.gather(*self._aside.values(), return_exceptions=True)

    def _rebuild(self, name: str, collection: Collection, now: float) -> None:
        """Begin or do a rebuild that is due."""
        task = self._aside.get(name)
        if task is not None and task.done():
            del self._aside[name]
            if not task.cancelled() and (failed := task.exception()) is not None and name in self.open:
                logger.warning("rebuilt in place, for aside it failed: %s", type(failed).__name__)
                self._in_place(collection)
        if name in self._aside or not collection.owes_rebuild or now < self._rest_until:
            return
        if collection.count() > self._aside_above:
            if collection.deleting(_CALM_SECONDS, _BUSY_SECONDS):
                return
            self._aside[name] = asyncio.create_task(aside.rebuild(collection))
            self._rest_until = now + _REST_AFTER_ASIDE
        else:
            self._in_place(collection)

    def _in_place(self, collection: Collection) -> None:
        collection.rebuild()
        self._rest_until = asyncio.get_running_loop().time() + _REST_AFTER_REBUILD * collection.rebuild_seconds


@contextlib.asynccontextmanager
async def running(collections: Collections):  # type: ignore[no-untyped-def]
    """Run background work around the server's life."""
    task = asyncio.create_task(collections.background())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        collections.close()
