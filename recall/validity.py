"""Does a memory hold at the time asked about? (C12, C13, R1). PostgreSQL has already ruled on expiry now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from recall.model import Known
from schemas.events import MAX_FUTURE_HOURS

# A platform's clock may run ahead by as much as the log allows; what it just said must not vanish for that long.
_AHEAD = timedelta(hours=MAX_FUTURE_HOURS)


def valid(memory: Known, moment: datetime, *, asked: bool) -> bool:
    """True where the memory holds at ``moment``.

    Args:
        memory: an active, unexpired memory.
        moment: the time asked about, or now.
        asked: True where the caller named the time; then what begins later is left out exactly.
    """
    if memory.expires_at is not None and memory.expires_at <= moment:
        return False
    start_by = moment if asked else moment + _AHEAD
    if memory.intervals:
        return any(
            (start is None or start <= start_by) and (stop is None or moment < stop) for start, stop in memory.intervals
        )
    return memory.valid_from <= start_by and (memory.valid_to is None or moment < memory.valid_to)


def lasts(memories: Iterable[Known], since: datetime, longest: timedelta) -> datetime:
    """The time until which an answer made of these memories at ``since``, no time named, stays what it is.

    Recency alone moves on in between: by nothing that anybody would see within ``longest``.

    Args:
        memories: all that were looked at, chosen or not: when one ends, another may take its place.
        since: when they were looked at, in the zone that their conditions were tested in.
        longest: the most that it may be.
    """
    ends = [since + longest]
    for memory in memories:
        ends += (at for at in _turns(memory) if at > since)
        if any(condition.startswith("when.") for condition in memory.content.conditions):
            # Days, hours and seasons all begin with an hour.
            ends.append(since.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1))
    return min(ends)


def _turns(memory: Known) -> Iterator[datetime]:
    """The times at which `valid` may say otherwise where no time is named."""
    spans = (*memory.intervals, (memory.valid_from, memory.valid_to), (None, memory.expires_at))
    for start, stop in spans:
        if start is not None:
            yield start - _AHEAD
        if stop is not None:
            yield stop
