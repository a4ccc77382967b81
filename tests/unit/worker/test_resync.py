"""Where to go on reading, and what to publish again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.resync import Course, Place, chart

TABLE = {
    "in step": (Place(7, 7, 0, 9), Course(7)),
    "stored, not published": (Place(7, 5, 0, 9), Course(7, again=(5, 7))),
    "never committed": (Place(7, None, 2, 9), Course(7, again=(2, 7))),
    "just entered": (Place(2, None, 2, 9), Course(2)),
    "set back for a replay": (Place(3, 7, 0, 9), Course(3)),
    "at the end": (Place(9, 9, 0, 9), Course(9)),
    "below the log": (Place(3, 3, 5, 9), Course(5, lost=(3, 5))),
    "below the log, not published": (Place(3, 1, 5, 9), Course(5, again=(1, 3), lost=(3, 5))),
    "past the end": (Place(12, 12, 0, 9), Course(0, lost=(9, 12))),
}


@pytest.mark.parametrize(("place", "course"), TABLE.values(), ids=TABLE.keys())
def test_the_table(place: Place, course: Course) -> None:
    assert chart(place) == course


OFFSETS = st.integers(0, 30)


@given(OFFSETS, st.none() | OFFSETS, OFFSETS, OFFSETS)
def test_it_never_skips_silently(stored: int, committed: int | None, low: int, more: int) -> None:
    place = Place(stored, committed, low, low + more)
    course = chart(place)
    assert place.low <= course.start <= place.high
    if course.lost is None:
        assert course.start == stored
    if course.again is not None:
        assert course.again[0] < course.again[1] == stored
