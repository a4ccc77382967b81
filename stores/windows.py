"""Session windows in Redis: the last turns of a conversation, sealed under the subject's key, with their positions.

A window may be lost or late, so it is only ever merged: a turn has one id and one place in the log, and the last ten
by place are the window, in whatever order and however often they arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import orjson
from redis import Redis

from schemas.errors import KeyMissing, PartUnavailable
from stores.cache import drop, keep, translated, window_key
from stores.copies import Edge, Parent, Place, Recorded
from stores.sealing import SubjectKeys

TURNS: Final = 10
TTL_SECONDS: Final = 7 * 24 * 3600
"""As long as the inbound log: what is older cannot be told from a new conversation."""
_ATTEMPTS: Final = 5


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
        author: hex of the reference of who said it, where that is not whom the window is about.
    """

    id: str
    revision: int
    role: str
    text: str
    at: str
    log: int
    part: int
    pos: int
    author: str = ""

    @property
    def place(self) -> tuple[int, int, int]:
        """What turns of one conversation are ordered by; a conversation has one partition unless its count changed."""
        return self.log, self.pos, self.part


Window = tuple[WindowTurn, ...]
Parents = Mapping[Place, Set[Parent]]
Record = Callable[[Parents, Parents], Recorded]
"""Records which turns, and whose, will lie in windows, and is told which lie there; nothing is written before."""


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

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close()

    def read(self, keys: SubjectKeys, epoch: int, conversation: bytes) -> Window | None:
        """A window, None where there is none or it does not open.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        place = (keys.handle, epoch, conversation)
        return _opened(keys, place, self.held([place])[place])

    def held(self, places: Collection[Place]) -> dict[Place, bytes]:
        """The sealed windows as they are held, empty where there is none; one round trip.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        wanted = list(places)
        if not wanted:
            return {}
        with translated():
            found = cast("list[bytes | None]", self._client.mget([window_key(*place) for place in wanted]))
        return {place: value or b"" for place, value in zip(wanted, found, strict=True)}

    def merge(
        self,
        keys: Mapping[bytes, SubjectKeys],
        additions: Mapping[Place, Iterable[WindowTurn]],
        record: Record,
        held: Mapping[Place, bytes] | None = None,
    ) -> list[Edge]:
        """Merge turns into windows and keep them for another week; one round trip where nobody else writes them.

        Args:
            keys: by handle.
            additions: turns by window.
            record: called with the windows that are about to be written.
            held: what `held` gave a moment ago, to save asking again.

        Returns:
            Windows, and what lies in them no more.

        Raises:
            PartUnavailable: Redis does not answer, or others kept writing these windows.
            Refused: a window whose turns were not recorded.
        """
        pending = dict(additions)
        scrolled: list[Edge] = []
        for _ in range(_ATTEMPTS):
            before = held if held is not None else self.held(pending)
            known = {place: _opened(keys[place[0]], place, before[place]) or () for place in pending}
            windows = {place: merged(known[place], turns) for place, turns in pending.items()}
            changed = {place: window for place, window in windows.items() if window != known[place]}
            if not changed:
                return scrolled
            now, was = ({place: _parents(all_[place]) for place in changed} for all_ in (changed, known))
            lost = self._swap(keys, before, changed, record(now, was))
            for place in set(changed) - set(lost):
                scrolled += [(place[2], parent) for _, parent in was[place] - now[place]]
            if not lost:
                return scrolled
            pending, held = {place: pending[place] for place in lost}, None
        raise PartUnavailable("Redis: session windows are contended")

    def drop(self, places: Collection[Place]) -> None:
        """Delete windows.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        if places:
            with translated():
                drop(self._client, *(window_key(*place) for place in places))

    def _swap(
        self,
        keys: Mapping[bytes, SubjectKeys],
        before: Mapping[Place, bytes],
        changed: Mapping[Place, Window],
        recorded: Recorded,
    ) -> list[Place]:
        """Replace windows that are still what they were; give those that are not.

        Two owners of a partition can overlap for a moment; neither may overwrite what it has not merged.
        """
        with translated():
            pipe = self._client.pipeline(transaction=False)
            for place, window in changed.items():
                recorded.require(place[2])
                after = keys[place[0]].seal(place[2], _plain(window))
                keep(pipe, window_key(*place), after, TTL_SECONDS * 1000, before=before[place])
            return [place for place, done in zip(changed, pipe.execute(), strict=True) if not done]


def _parents(window: Window) -> set[Parent]:
    authors = {Parent("subject", bytes.fromhex(turn.author)) for turn in window if turn.author}
    return authors | {Parent("turn", bytes.fromhex(turn.id)) for turn in window}


def _plain(window: Window) -> bytes:
    return orjson.dumps([asdict(turn) for turn in window])


def _opened(keys: SubjectKeys, place: Place, sealed: bytes) -> Window | None:
    if not sealed:
        return None
    try:
        rows: list[dict[str, Any]] = orjson.loads(keys.open(place[2], sealed))
        return tuple(WindowTurn(**row) for row in rows)
    except (KeyMissing, TypeError, ValueError):
        # Damaged, or of another version: the event log has the turns.
        return None
