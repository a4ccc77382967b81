"""Lag is what is not yet both stored and published."""

from __future__ import annotations

from streams.offsets import LogEnd, behind

ENDS = [LogEnd("t", "id", 0, 5, 20), LogEnd("t", "id", 1, 0, 0), LogEnd("u", "id2", 0, 0, 9)]


def test_the_lesser_position_counts() -> None:
    assert behind(ENDS, {"t"}, {("t", 0): 20}, {("t", 0): 12}) == {"t": 8}
    assert behind(ENDS, {"t"}, {("t", 0): 12}, {("t", 0): 20}) == {"t": 8}
    assert behind(ENDS, {"t", "u"}, {("t", 0): 20, ("u", 0): 9}, {("t", 0): 20, ("u", 0): 9}) == {"t": 0, "u": 0}


def test_without_a_position_the_whole_log_is_ahead() -> None:
    assert behind(ENDS, {"t", "u"}, {}, {}) == {"t": 15, "u": 9}


def test_what_the_log_has_dropped_does_not_count() -> None:
    assert behind(ENDS, {"t"}, {("t", 0): 1}, {("t", 0): 1}) == {"t": 15}
