"""The directories of a collection's engine: which one counts, and its write-ahead log cut short."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

import orjson
import qdrant_edge as edge


def current(folder: Path) -> Path:
    """Find the engine that counts, and remove what an unfinished rebuild has left of others."""
    pointer = folder / "current"
    name = pointer.read_text("ascii") if pointer.exists() else "engine"
    for other in folder.glob("engine*"):
        if other.name != name:
            shutil.rmtree(other)
    return folder / name


def point_to(folder: Path, name: str) -> None:
    """Name the engine that counts; a kill leaves the old name or the new one."""
    fresh = folder / "current.new"
    with fresh.open("w", encoding="ascii") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / "current")
    # The old engine is removed next: its name must be gone from the disk first.
    here = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(here)
    finally:
        os.close(here)


def cut_log(folder: Path) -> None:
    """Replace a closed engine's write-ahead log, all of which is flushed, by one that goes on from it.

    An empty log would count from nought again, and the engine passes over an operation whose number
    is below that of the point it meets: deletes by filter and upserts would be lost without a word.
    The old log is moved aside first: a kill between two removed files would leave half of one.
    """
    _begin_log(folder)
    (folder / "wal").rename(folder / "wal.gone")
    finish_cut(folder)


def _begin_log(folder: Path) -> None:
    """Lay ready a log of one harmless operation; a closed part's name is the number of its first."""
    start = time.time_ns() // 1000
    with contextlib.suppress(FileNotFoundError):
        # The clock may have been set back.
        known = orjson.loads((folder / "wal" / "first-index").read_bytes())["ack_index"]
        start = max(start, known + 1_000_000)
    scratch, ready = folder / "scratch", folder / "wal.next"
    for path in (scratch, ready):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=1, distance=edge.Distance.Dot), wal_enabled=True)
    engine = edge.EdgeShard.create(str(scratch), config)
    engine.update(edge.UpdateOperation.delete_points([0]))
    engine.close()
    (scratch / "wal" / "open-1").rename(ready / f"closed-{start}")


def finish_cut(folder: Path) -> None:
    """Complete a cut that was interrupted, and remove what it has left."""
    if (folder / "wal.next").exists() and not (folder / "wal").exists():
        (folder / "wal.next").rename(folder / "wal")
    for name in ("wal.gone", "wal.next", "scratch", "temp_segments"):
        shutil.rmtree(folder / name, ignore_errors=True)
