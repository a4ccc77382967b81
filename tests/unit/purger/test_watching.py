"""When an erasure is finished, what is worked on again, and when it is looked at next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from consumers.purger.lines import can_rise, finished, state_of
from consumers.purger.proof import next_look
from schemas.eraser import Line
from schemas.words import ErasureState, LineStatus, Property

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATE = NOW + timedelta(days=8)
EXPIRES = Line(
    entry="inbound_logs.memory.turns",
    store="inbound_logs",
    status=LineStatus.EXPIRES,
    proven=(Property.FENCED,),
    target=(Property.FENCED,),
    method="",
    before=0,
    after=0,
    observed_at=NOW,
    eraser="logs",
    version="2",
    expires_at=DATE,
)
PENDING = replace(EXPIRES, target=(Property.ABSENT, Property.COMPACTED, Property.FENCED))
HELD = replace(PENDING, reason="idle_group")
CUT = replace(PENDING, status=LineStatus.ERASED, proven=(Property.ABSENT, Property.FENCED), expires_at=None)
GONE = replace(CUT, proven=PENDING.target)


def test_a_dated_line_is_finished_unless_it_is_about_to_go() -> None:
    assert finished(EXPIRES) and finished(HELD) and finished(GONE)
    assert not finished(PENDING) and not finished(CUT)
    assert state_of([EXPIRES, PENDING]) is ErasureState.VERIFIED
    assert state_of([HELD, GONE]) is ErasureState.FINAL


def test_what_is_worked_on_again() -> None:
    assert can_rise(PENDING) and can_rise(CUT)
    assert not can_rise(EXPIRES) and not can_rise(HELD) and not can_rise(GONE)


def look(line: Line, age: float) -> timedelta | None:
    at = NOW + timedelta(seconds=age)
    found = next_look([line], state_of([line]), at, NOW)
    return None if found is None else found - at


def test_looks_come_soon_at_first_and_seldom_later() -> None:
    assert [look(PENDING, age) for age in (0, 10, 3600)] == [timedelta(seconds=n) for n in (1, 5, 60)]
    assert [look(HELD, age) for age in (0, 10**5)] == [timedelta(seconds=1), timedelta(minutes=15)]
    assert look(HELD, 8 * 86400 - 1) == timedelta(seconds=1)
    assert look(EXPIRES, 0) == timedelta(days=8)
    assert look(GONE, 0) is None
