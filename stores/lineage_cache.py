"""The part of a lineage that lies in Redis: windows that hold its turns, kept answers that show its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis
from redis.exceptions import RedisError

from schemas.errors import KeyMissing, PartUnavailable
from stores.cache import handle_pattern
from stores.lineage import Graph, Key, Node
from stores.sealing import SubjectKeys
from stores.windows import WindowStore

_STEP = 2000


def add_cached(found: Graph, client: Redis, keys: SubjectKeys) -> None:
    """Add windows and kept answers; each names its parents inside its sealed value.

    Raises:
        PartUnavailable: Redis does not answer.
    """
    turns = {key.id.hex(): key for key in found.nodes if key.kind == "turn"}
    windows = WindowStore(client)
    for name in _names(client, "window", keys.handle):
        _, _, epoch, conversation = name.split(":")
        window = windows.read(keys, int(epoch), bytes.fromhex(conversation)) or ()
        key = Key("window", bytes.fromhex(conversation))
        parents = [turns[turn.id] for turn in window if turn.id in turns]
        _add(found, key, parents, f"session window of {len(window)} turns")
    for name in _names(client, "recall", keys.handle):
        with _translated():
            sealed = client.get(name)
        if isinstance(sealed, bytes) and _shows(keys, name, sealed, found.start.id):
            key = Key("cached", bytes.fromhex(name.rpartition(":")[2]))
            _add(found, key, [found.start], f"kept answer of generation {name.split(':')[3]}")


def _add(found: Graph, key: Key, parents: list[Key], about: str) -> None:
    if parents:
        found.nodes[key] = Node(key, about=about)
        found.edges |= {(key, parent) for parent in parents}


def _names(client: Redis, prefix: str, handle: bytes) -> Iterator[str]:
    with _translated():
        for name in client.scan_iter(match=handle_pattern(prefix, handle), count=_STEP):
            yield name.decode("ascii")


def _shows(keys: SubjectKeys, name: str, sealed: bytes, memory: bytes) -> bool:
    try:
        return memory.hex().encode() in keys.open(name.encode(), sealed)
    except KeyMissing:
        # Damaged or planted: nobody is ever shown it.
        return False


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise PartUnavailable(f"Redis: {type(error).__name__}") from None
