"""Session windows in Redis: the last turns of a conversation, sealed under the subject's key, with their positions.

A window may be lost or late, so it is only ever merged: a turn has one id and one place in the log, and the last ten
by place are the window, in whatever order and however often they arrive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import orjson
from redis import Redis
from redis.exceptions import RedisError

from schemas.errors import KeyMissing, PartUnavailable
from stores.cache import window_key
from stores.sealing import SubjectKeys

TURNS: Final = 10
TTL_SECONDS: Final = 7 * 24 * 3600
"""As long as the inbound log: what is older cannot be told from a new conversation."""
_ATTEMPTS: Final = 5

# Two owners of a partition can overlap for a moment; neither may overwrite what it has not merged.
_COMPARE_AND_SET: Final = """
local held = redis.call('GET', KEYS[1])
if (held or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""


@dataclass(frozen=True, slots=True)
class WindowTurn:
    """One screened turn of a window.

    Attributes:
        id: hex of the turn's keyed id.
        revision: of its message; the highest counts.
        role: who wrote it.
        text: what was said, segments joined by newlines.
        at: RFC 3339.
        log: number of the log in table ``logs``.
        part: partition.
        pos: offset.
    """

    id: str
    revision: int
    role: str
    text: str
    at: str
    log: int
    part: int
    pos: int

    @property
    def place(self) -> tuple[int, int, int]:
        """What turns of one conversation are ordered by; a conversation has one partition unless its count changed."""
        return self.log, self.pos, self.part


Window = tuple[WindowTurn, ...]
Place = tuple[bytes, int, bytes]
"""Handle, epoch and keyed hash of a conversation: what names a window."""


def merged(*parts: Iterable[WindowTurn], most: int = TURNS) -> Window:
    """The last turns of all parts together, oldest first.

    Of one message the highest revision counts; of equal ones the first in the log, as in the event log.
    """
    kept: dict[str, WindowTurn] = {}
    for part in parts:
        for turn in part:
            known = kept.get(turn.id)
            if known is None or _beats(turn, known):
                kept[turn.id] = turn
    return tuple(sorted(kept.values(), key=lambda turn: turn.place)[-most:])


def _beats(turn: WindowTurn, known: WindowTurn) -> bool:
    if turn.revision != known.revision:
        return turn.revision > known.revision
    return turn.place < known.place


class WindowStore:
    """Reads and merges windows; conversations are named by their keyed hash (16 bytes)."""

    def __init__(self, client: Redis) -> None:
        """Take a client whose answers are bytes."""
        self._client = client
        self._swap = client.register_script(_COMPARE_AND_SET)

    def read(self, keys: SubjectKeys, epoch: int, conversation: bytes) -> Window | None:
        """A window, None where there is none or it does not open.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        return _opened(keys, conversation, self._get(window_key(keys.handle, epoch, conversation)))

    def merge(self, keys: SubjectKeys, epoch: int, conversation: bytes, *parts: Iterable[WindowTurn]) -> Window:
        """Merge turns into a window and keep it for another week.

        Raises:
            PartUnavailable: Redis does not answer, or others kept writing this window.
        """
        key = window_key(keys.handle, epoch, conversation)
        for _ in range(_ATTEMPTS):
            held = self._get(key)
            known = _opened(keys, conversation, held) or ()
            window = merged(known, *parts)
            if held and window == known:
                return window
            if self._set(key, held, keys.seal(conversation, _plain(window))):
                return window
        raise PartUnavailable("Redis: a session window is contended")

    def missing(self, places: Collection[Place]) -> set[Place]:
        """Those of the windows that are not there.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        wanted = list(places)
        if not wanted:
            return set()
        with _translated():
            pipe = self._client.pipeline(transaction=False)
            for place in wanted:
                pipe.exists(window_key(*place))
            return {place for place, there in zip(wanted, pipe.execute(), strict=True) if not there}

    def drop(self, places: Collection[Place]) -> None:
        """Delete windows.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        if places:
            with _translated():
                self._client.delete(*(window_key(*place) for place in places))

    def _get(self, key: str) -> bytes:
        with _translated():
            return cast("bytes | None", self._client.get(key)) or b""

    def _set(self, key: str, held: bytes, sealed: bytes) -> bool:
        with _translated():
            return bool(self._swap(keys=[key], args=[held, sealed, TTL_SECONDS]))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise PartUnavailable(f"Redis: {type(error).__name__}") from None


def _plain(window: Window) -> bytes:
    return orjson.dumps([asdict(turn) for turn in window])


def _opened(keys: SubjectKeys, conversation: bytes, sealed: bytes) -> Window | None:
    if not sealed:
        return None
    try:
        rows: list[dict[str, Any]] = orjson.loads(keys.open(conversation, sealed))
        return tuple(WindowTurn(**row) for row in rows)
    except (KeyMissing, TypeError, ValueError):
        # Damaged, or of another version: the event log has the turns.
        return None
