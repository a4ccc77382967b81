"""Searches every file under a home, byte by byte; Kafka's batches are opened first."""

from __future__ import annotations

import errno
import mmap
import os
from collections import Counter
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
    # Not `rglob`, which ends with an error where a part removes a folder of its own meanwhile.
    for folder, below, names in os.walk(home):
        below.sort()
        for path in (Path(folder, name) for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                yield from _in_file(home, path, wanted)


def _in_file(home: Path, path: Path, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    name = path.relative_to(home)
    store = _STORES.get(name.parts[0], "files")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            counts = Counter[str]()
            # Kafka's indexes are ten megabytes each with a few bytes in them.
            for start, end in written(file.fileno()):
                counts.update({canary: _count(data, forms, start, end) for canary, forms in wanted.items()})
            if path.suffix in (".log", ".deleted") and store == "kafka":
                for batch in opened(data[:]):
                    counts.update({canary: _count(batch, forms, 0, len(batch)) for canary, forms in wanted.items()})
    except (OSError, ValueError):
        # Gone meanwhile, a socket, or empty: nothing that could hold a text.
        return
    for canary, count in counts.items():
        if count:
            yield Hit(canary, store, str(name), count)


def written(file: int) -> Iterator[tuple[int, int]]:
    """Give start and end of each part of an open file that is no hole; a hole reads as zeros."""
    end, size = 0, os.fstat(file).st_size
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                return
            # A file system that does not know: all of it.
            start, end = end, size
        yield start, end


def _count(data: bytes | mmap.mmap, forms: Iterable[bytes], start: int, end: int) -> int:
    """Count occurrences; forms that contain one another count once."""
    places: set[int] = set()
    for form in forms:
        at = data.find(form, start, end)
        while at >= 0:
            places.add(at)
            at = data.find(form, at + 1, end)
    return len(places)
