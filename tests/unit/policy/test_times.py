"""Stated times become instants in the speaker's zone (W12, C12)."""

from datetime import UTC, datetime, timedelta

import pytest

from policy.times import find_bounds, local_date

# A Thursday, half past eleven at night in UTC: Friday morning in Shanghai.
AT = datetime(2026, 5, 14, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("today I want short answers", None, "2026-05-15"),
        ("今天只想听爵士", None, "2026-05-15"),
        ("until Friday", None, "2026-05-15"),
        ("到周五", None, "2026-05-15"),
        ("到下周五", None, "2026-05-22"),
        ("this week", None, "2026-05-17"),
        ("本周", None, "2026-05-17"),
        ("this month", None, "2026-05-31"),
        ("by the end of the month", None, "2026-05-31"),
        ("月底前", None, "2026-05-31"),
        ("this quarter", None, "2026-06-30"),
        ("这个季度", None, "2026-06-30"),
        ("next month", "2026-06-01", "2026-06-30"),
        ("下个月", "2026-06-01", "2026-06-30"),
        ("next quarter", "2026-07-01", "2026-09-30"),
        ("this year", None, "2026-12-31"),
        ("今年", None, "2026-12-31"),
        ("明年", "2027-01-01", "2027-12-31"),
        ("until 5 June", None, "2026-06-05"),
        ("by June 5th", None, "2026-06-05"),
        ("until 2026-07-01", None, "2026-07-01"),
        ("到6月3日为止", None, "2026-06-03"),
        ("by October", None, "2026-10-31"),
        ("over the next three weeks", None, "2026-06-05"),
    ],
)
def test_bounds_in_shanghai(text: str, begins: str | None, ends: str) -> None:
    bounds = find_bounds(text, AT, "Asia/Shanghai")
    assert bounds is not None
    assert bounds.expires_at is not None
    assert local_date(bounds.expires_at - timedelta(seconds=1), "Asia/Shanghai").isoformat() == ends
    assert (bounds.valid_from and local_date(bounds.valid_from, "Asia/Shanghai").isoformat()) == begins
    assert bounds.expires_at.tzinfo is UTC


def test_the_day_is_the_speakers() -> None:
    here, there = (find_bounds("today", AT, zone) for zone in ("Asia/Shanghai", "America/New_York"))
    assert here is not None
    assert there is not None
    assert here.expires_at == datetime(2026, 5, 15, 16, tzinfo=UTC)
    assert there.expires_at == datetime(2026, 5, 15, 4, tzinfo=UTC)


def test_today_ends_within_a_day() -> None:
    bounds = find_bounds("today", AT, "Pacific/Kiritimati")
    assert bounds is not None
    assert bounds.expires_at is not None
    assert AT < bounds.expires_at <= AT + timedelta(hours=24)


def test_a_short_day_is_as_long_as_it_is() -> None:
    # Clocks go forward on 29 March 2026 in Paris: that day ends 23 hours after it began.
    bounds = find_bounds("today", datetime(2026, 3, 29, 8, tzinfo=UTC), "Europe/Paris")
    assert bounds is not None
    assert bounds.expires_at == datetime(2026, 3, 29, 22, tzinfo=UTC)


@pytest.mark.parametrize("zone", [None, "", "Not/AZone", "../etc/passwd"])
def test_an_unknown_zone_is_utc(zone: str | None) -> None:
    bounds = find_bounds("today", AT, zone)
    assert bounds is not None
    assert bounds.expires_at == datetime(2026, 5, 15, tzinfo=UTC)


@pytest.mark.parametrize("text", ["I love jazz", "我喜欢爵士乐", "until 31 June foo", "for 99 dogs", "by 1999-01-01"])
def test_no_time_no_bounds(text: str) -> None:
    assert find_bounds(text, AT, "UTC") is None


def test_the_span_is_where_the_words_stand() -> None:
    bounds = find_bounds("I plan it for this quarter only", AT, None)
    assert bounds is not None
    assert "I plan it for this quarter only"[bounds.start : bounds.end] == "this quarter"
