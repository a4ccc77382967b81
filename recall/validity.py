"""Does a memory hold at the time asked about? (C12, C13, R1). PostgreSQL has already ruled on expiry now."""

from __future__ import annotations

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
