"""Searches every file under a home, byte by byte; Kafka's batches are opened first."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.audit.batches import opened

_STORES = {
    "kafka": "kafka",
    "postgres": "postgres",
    "valkey": "redis",
    "vectors": "qdrant",
    "vault": "vault",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A canary found: in which store, in which file (or table, key, collection), how often."""

    canary: str
    store: str
    file: str
    count: int


def scan(home: Path, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    """Search all files below ``home`` for the forms of each canary.

    Args:
        home: folder of an embedded stack, or any other.
        wanted: canary to the byte strings that count as it.
    """
    for path in sorted(home.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        yield from _in_file(home, path, wanted)


def _in_file(home: Path, path: Path, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    name = path.relative_to(home)
    store = _STORES.get(name.parts[0], "files")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            counts = {canary: _count(data, forms) for canary, forms in wanted.items()}
            if path.suffix in (".log", ".deleted") and store == "kafka":
                for batch in opened(data[:]):
                    for canary, forms in wanted.items():
                        counts[canary] += _count(batch, forms)
    except (OSError, ValueError):
        # Gone meanwhile, a socket, or empty: nothing that could hold a text.
        return
    for canary, count in counts.items():
        if count:
            yield Hit(canary, store, str(name), count)


def _count(data: bytes | mmap.mmap, forms: Iterable[bytes]) -> int:
    """Count occurrences; forms that contain one another count once."""
    places: set[int] = set()
    for form in forms:
        at = data.find(form)
        while at >= 0:
            places.add(at)
            at = data.find(form, at + 1)
    return len(places)
