"""Rebuilds a large engine beside the one that serves, in a process of its own.

A rebuild of 200,000 points stops the engine for 14 s. So the engine is copied (0.4 s), the copy is rebuilt by another
process while this one answers and keeps what is written meanwhile, and what was kept is applied to the copy before it
takes over. Until then the old engine has everything: a kill at any point leaves it in charge.

    copy ─▶ rebuild (`python -m deploy.vectorserver.aside FOLDER`) ─▶ load, catch up ─▶ `current` names the copy
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import qdrant_edge as edge

from deploy.embedded.process import leashed
from deploy.vectorserver.collection import Collection
from deploy.vectorserver.files import cut_log

_NOTHING_DUE = 3
_POLL = 0.05
_PATIENT_ROUNDS = 4
_STEPS_OF_PRIORITY = 10


class AsideFailed(Exception):
    """The copy could not be rebuilt: the disk may be full."""


async def rebuild(collection: Collection) -> None:
    """Leave no deleted byte in any file, while the collection goes on serving.

    Raises:
        AsideFailed: nothing has changed, and the rebuild is still due.
    """
    folder: Path | None = None
    shard: edge.EdgeShard | None = None
    try:
        folder = collection.copy()
        status = await _worked(collection, folder)
        if status == _NOTHING_DUE:
            return
        if status:
            raise AsideFailed(f"the rebuild ended with status {status}")
        shard = edge.EdgeShard.load(str(folder))
        await _caught_up(collection, shard)
        collection.adopt(shard, folder)
    except BaseException:
        collection.owes_rebuild = True
        if shard is not None and shard is not collection.shard:
            shard.close()
        raise
    finally:
        collection.abandon(folder)


async def _worked(collection: Collection, folder: Path) -> int:
    argv = leashed([sys.executable, "-m", "deploy.vectorserver.aside", str(folder)])
    helper = subprocess.Popen(argv, stdin=subprocess.DEVNULL)  # noqa: S603 - killed with the collection
    collection.watch(helper)
    while (status := helper.poll()) is None:
        await asyncio.sleep(_POLL)
    return status


async def _caught_up(collection: Collection, shard: edge.EdgeShard) -> None:
    """Apply what was done meanwhile, a little at a time; the last of it without a pause, and durably."""
    rounds = 0
    while missed := collection.missed():
        rounds += 1
        for operation, applied in missed:
            # What one engine has refused, half of it perhaps done, the other refuses likewise.
            with contextlib.nullcontext() if applied else contextlib.suppress(Exception):
                shard.update(operation)
            # Writers as fast as this would never be caught up with.
            if rounds < _PATIENT_ROUNDS:
                await asyncio.sleep(0)
    shard.flush()


def main(folder: Path) -> int:
    """Rebuild the engine of a directory that nobody else has open."""
    os.nice(_STEPS_OF_PRIORITY)
    shard = edge.EdgeShard.load(str(folder))
    due = shard.optimize()
    shard.flush()
    shard.close()
    if not due:
        return _NOTHING_DUE
    cut_log(folder)
    # What was merely copied is not on the disk yet, and the original goes soon.
    os.sync()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
