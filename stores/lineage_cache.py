"""Whether the copies that a lineage names still lie in Redis: session windows and kept answers end by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from redis import Redis

from stores.cache import handle_pattern, translated
from stores.lineage import ELSEWHERE, Graph, Key

_STEP = 2000
_PREFIXES = {"window": "window", "recall": "cached"}


def look_after_copies(found: Graph, client: Redis, handle: bytes) -> None:
    """Say of each window and each kept answer of a graph whether it is there now.

    Raises:
        PartUnavailable: Redis does not answer.
    """
    held = set(_held(client, handle))
    for key in [key for key in found.nodes if key.kind in ELSEWHERE]:
        about = ELSEWHERE[key.kind] + ("" if key in held else ", gone by now")
        found.nodes[key] = replace(found.nodes[key], about=about)


def _held(client: Redis, handle: bytes) -> Iterator[Key]:
    for prefix, kind in _PREFIXES.items():
        with translated():
            for name in client.scan_iter(match=handle_pattern(prefix, handle), count=_STEP):
                yield Key(kind, bytes.fromhex(name.decode("ascii").rpartition(":")[2]))
