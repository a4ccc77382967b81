"""Stated times, resolved in the speaker's zone and stored as UTC instants (W12, C12).

A cheap pattern looks for a cue first. Common phrases are resolved here; only a clause with an absolute
date goes to ``dateparser``, which costs 1.6 ms and is imported when first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from policy.hints import Hints

Span = tuple[date, date]


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a claim begins and ends to hold, as UTC instants; ``start`` and ``end`` are where the words stood."""

    valid_from: datetime | None
    expires_at: datetime | None
    start: int = 0
    end: int = 0


_EN_UNITS = "day|week|weekend|month|quarter|year"
_EN_DAYS = {"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6}
_EN_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|satur|sat|sun)(?:day)?"
_EN_MONTHS = "january february march april may june july august september october november december".split()
_EN_MONTH = "|".join(_EN_MONTHS)
_ZH_DAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 6}
_ZH_NUMBERS = {
    "一": 1,
    "两": 2,
    "二": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
    "半": 6,
}
_EN_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}

_CUE = re.compile(
    rf"\b(?:(?:(?P<until>until|till|through|by)\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+)?)?(?:"
    rf"(?P<which>this|next)\s+(?P<unit>{_EN_UNITS})"
    rf"|(?P<day>today|tonight|tomorrow)"
    rf"|(?<=end of the )(?P<bare>month|week|quarter|year)|(?<=end of )(?P<bare2>month|week|quarter|year))"
    rf"|(?:until|till|through|by)\s+(?:this\s+|next\s+)?(?P<weekday>{_EN_DAY})"
    rf"|(?:for|in|over)\s+the\s+next\s+(?P<count>\d{{1,3}}|a|one|two|three|four|five"
    rf"|six)\s+(?P<many>days?|weeks?|months?|years?)"
    rf"|(?:until|till|through|by)\s+(?:the end of\s+)?(?P<named>{_EN_MONTH})(?!\s+\d)"
    rf"|(?:until|till|through|by)\s+(?P<date>(?:\d{{4}}-\d{{2}}-\d{{2}})|(?:\w+\s+\d{{1,2}}(?:st|nd|rd"
    rf"|th)?|\d{{1,2}}(?:st|nd|rd|th)?\s+\w+)"
    rf"(?:,?\s+\d{{4}})?))\b",
    re.IGNORECASE,
)
_ZH_CUE = re.compile(
    r"(?P<which>这个?|本|下个?)(?P<unit>星期|礼拜|周末|周|月|季度|季|年)(?![一二三四五六日天])"
    r"|(?P<year>今年|明年|年底前?|今年内)"
    r"|(?P<day>今天|今日|今晚|明天)"
    r"|(?:到|直到|在)(?P<next>下个?)?(?:这个?|本)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?:为止|之?前|以前)?"
    r"|(?P<end>月底|周末|季度末|年底)(?:为止|之?前|以前)"
    r"|(?:到|直到|在)?(?P<named>1[0-2]|[1-9])月(?:份|底)?(?:为止|之?前|以前)"
    r"|(?:未来|接下来的?)(?P<count>[一两二三四五六七八九十]|\d{1,3})(?P<many>天|周|个星期|个月|年)"
    r"|(?:到|直到|在)(?P<date>(?:\d{4}年)?\d{1,2}月\d{1,2}[日号])(?:为止|之?前|以前)?"
)


_NAMES_TIME = Hints(
    {
        "a time": (
            "this",
            "next",
            "today",
            "tonight",
            "tomorrow",
            "until",
            "till",
            "through",
            "by",
            "end of",
            "month",
            "week",
        )
    }
)
"""What English text without any of them cannot match; ASCII alone is never Chinese."""


def find_bounds(text: str, at: datetime, timezone: str | None) -> Bounds | None:
    """Return when what ``text`` says begins and ends to hold, or None where it names no such time.

    Args:
        text: One clause or sentence.
        at: When it was said.
        timezone: The speaker's IANA zone; UTC where it is missing or unknown.
    """
    if text.isascii() and not _NAMES_TIME.of(text.lower()):
        return None
    zone = zone_of(timezone)
    today = at.astimezone(zone).date()
    match = _CUE.search(text)
    span = _english(match, today) if match else None
    if span is None:
        match = _ZH_CUE.search(text)
        span = _chinese(match, today) if match else None
    if span is None or match is None:
        return None
    begins, ends = span
    valid_from = None if begins <= today else _midnight(begins, zone)
    return Bounds(valid_from, _midnight(ends + timedelta(days=1), zone), match.start(), match.end())


def zone_of(timezone: str | None) -> ZoneInfo:
    """Return the zone of that IANA name, UTC where there is none: a wrong name must not stop a pipeline."""
    try:
        return ZoneInfo(timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def local_date(at: datetime, timezone: str | None) -> date:
    """Return the day it was for the speaker."""
    return at.astimezone(zone_of(timezone)).date()


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _english(match: re.Match[str], today: date) -> Span | None:
    group = match.group
    if group("day"):
        return _day(today, 1 if group("day").lower() == "tomorrow" else 0)
    if group("unit"):
        span = _PERIODS[group("unit").lower()](today, int(group("which").lower() == "next"))
        return (today, span[1]) if group("until") else span
    bare = group("bare") or group("bare2")
    if bare:
        return today, _PERIODS[bare.lower()](today, 0)[1]
    if group("named"):
        return today, _coming_month(today, _EN_MONTHS.index(group("named").lower()) + 1)
    if group("weekday"):
        return today, _weekday(today, _EN_DAYS[group("weekday").lower()[:3]])
    if group("count"):
        count = group("count").lower()
        return today, _later(today, _EN_NUMBERS.get(count) or int(count), group("many").lower()[0])
    return _absolute(group("date"), today)


def _chinese(match: re.Match[str], today: date) -> Span | None:
    group = match.group
    if group("day"):
        return _day(today, 1 if group("day") == "明天" else 0)
    if group("unit"):
        return _PERIODS[group("unit")](today, int(group("which").startswith("下")))
    if group("year"):
        return _year(today, int(group("year") == "明年"))
    if group("weekday"):
        return today, _weekday(today, _ZH_DAYS[group("weekday")], bool(group("next")))
    if group("named"):
        return today, _coming_month(today, int(group("named")))
    if group("end"):
        return today, _PERIODS[group("end")[0]](today, 0)[1]
    if group("count"):
        count = group("count")
        return today, _later(today, _ZH_NUMBERS.get(count) or int(count), group("many")[-1])
    return _numeric(group("date"), today)


def _day(today: date, ahead: int) -> Span:
    day = today + timedelta(days=ahead)
    return day, day


def _week(today: date, ahead: int) -> Span:
    monday = today + timedelta(days=7 * ahead - today.weekday())
    return monday, monday + timedelta(days=6)


def _weekend(today: date, ahead: int) -> Span:
    sunday = _week(today, ahead)[1]
    return sunday - timedelta(days=1), sunday


def _months(first: int, count: int) -> Span:
    """Return ``count`` months from the month with running number ``first`` (January of year 0 is 0)."""
    after = first + count
    return (
        date(first // 12, first % 12 + 1, 1),
        date(after // 12, after % 12 + 1, 1) - timedelta(days=1),
    )


def _month(today: date, ahead: int) -> Span:
    return _months(today.year * 12 + today.month - 1 + ahead, 1)


def _quarter(today: date, ahead: int) -> Span:
    return _months(today.year * 12 + (today.month - 1) // 3 * 3 + 3 * ahead, 3)


def _year(today: date, ahead: int) -> Span:
    return date(today.year + ahead, 1, 1), date(today.year + ahead, 12, 31)


def _coming_month(today: date, month: int) -> date:
    """Return the last day of the coming month of that number, the current one included."""
    year = today.year + (month < today.month)
    return _months(year * 12 + month - 1, 1)[1]


def _weekday(today: date, weekday: int, following: bool = False) -> date:
    """Return the coming day of that name, today included; in Chinese 下周五 is in the following week."""
    if following:
        return _week(today, 1)[0] + timedelta(days=weekday)
    return today + timedelta(days=(weekday - today.weekday()) % 7)


def _later(today: date, count: int, unit: str) -> date:
    if unit in "d天":
        return today + timedelta(days=count)
    if unit in "w周期":
        return today + timedelta(weeks=count)
    months = count * 12 if unit in "y年" else count
    # Capped, so that "the next 999 years" stays a date.
    return today + timedelta(days=min(round(months * 30.44), 36_500))


def _numeric(phrase: str, today: date) -> Span | None:
    """Read 2026年6月3日 or 6月3日; without a year it is the coming one."""
    *years, month, day = map(int, re.findall(r"\d+", phrase))
    for year in years or (today.year, today.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return today, found
    return None


def _absolute(phrase: str, today: date) -> Span | None:
    """Ask ``dateparser`` for an English date; one in the past bounds nothing."""
    import dateparser

    found = dateparser.parse(
        phrase,
        languages=["en"],
        settings={"RELATIVE_BASE": datetime(today.year, today.month, today.day), "PREFER_DATES_FROM": "future"},
    )
    if found is None or found.date() < today:
        return None
    return today, found.date()


_PERIODS: dict[str, Callable[[date, int], Span]] = {
    "day": _day,
    "week": _week,
    "weekend": _weekend,
    "month": _month,
    "quarter": _quarter,
    "year": _year,
    "星期": _week,
    "礼拜": _week,
    "周": _week,
    "周末": _weekend,
    "月": _month,
    "季度": _quarter,
    "季": _quarter,
    "年": _year,
}
