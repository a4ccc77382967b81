"""The collections of one data folder, and when their background work runs."""

from __future__ import annotations

import asyncio
import contextlib
import re
from pathlib import Path

from deploy.vectorserver.collection import Collection
from deploy.vectorserver.errors import QdrantError, bad_request, no_collection
from deploy.vectorserver.filters import Json

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
_TICK = 0.1
_FLUSH_EVERY = 5.0
_REST_AFTER_REBUILD = 5.0
"""A rebuild stops all answers, so it takes at most one part in so many plus one of the time."""


class Collections:
    """All open collections, by name."""

    def __init__(self, folder: Path) -> None:
        """Open what the folder holds."""
        self._folder = folder
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
        rest_until = last_flush = loop.time()
        while True:
            await asyncio.sleep(_TICK)
            for collection in list(self.open.values()):
                if collection.owes_rebuild and loop.time() >= rest_until:
                    collection.rebuild()
                    rest_until = loop.time() + _REST_AFTER_REBUILD * collection.rebuild_seconds
            if loop.time() - last_flush >= _FLUSH_EVERY:
                for collection in self.open.values():
                    if collection.unflushed:
                        collection.flush()
                last_flush = loop.time()


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
