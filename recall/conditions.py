"""Does a condition hold now? Weekdays and hours are read off the clock, everything else off what was said (C5).

The answer has three values: True, False, and None where nothing tells. A condition is never guessed to hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from policy.text import fold, terms
from schemas.records import GLOBAL_SCOPE, Content

_WEEKDAYS = frozenset(range(5))
_WEEKEND = frozenset({5, 6})
_DAYS: dict[str, frozenset[int]] = {
    "weekday": _WEEKDAYS,
    "workday": _WEEKDAYS,
    "工作日": _WEEKDAYS,
    "平日": _WEEKDAYS,
    "weekend": _WEEKEND,
    "周末": _WEEKEND,
    "双休日": _WEEKEND,
} | {
    name: frozenset({day})
    for day, names in enumerate(
        (
            ("monday", "周一", "星期一", "礼拜一"),
            ("tuesday", "周二", "星期二", "礼拜二"),
            ("wednesday", "周三", "星期三", "礼拜三"),
            ("thursday", "周四", "星期四", "礼拜四"),
            ("friday", "周五", "星期五", "礼拜五"),
            ("saturday", "周六", "星期六", "礼拜六"),
            ("sunday", "周日", "周天", "星期日", "星期天", "礼拜天"),
        )
    )
    for name in names
}
# Hours of the day, half-open; a range that starts later than it ends goes over midnight.
_HOURS: dict[str, tuple[int, int]] = {
    "morning": (5, 12),
    "早上": (5, 12),
    "上午": (5, 12),
    "afternoon": (12, 18),
    "下午": (12, 18),
    "evening": (17, 23),
    "晚上": (17, 24),
    "night": (21, 5),
    "夜里": (21, 5),
}
_EXCEPT = re.compile(r"^(?:except(?:_for)?|unless|other_than|除了?|除非)[_.\s]*")
# Words that frame a condition and are no evidence that it holds.
_FRAME = frozenset("when while during project app at using use doing only default case this for 时 候 个 里 中 做 项目 这个".split())


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known about now: what was asked and said, the scope named, and the asker's clock."""

    said: frozenset[str]
    at: datetime
    scope: str | None = None

    @classmethod
    def of(cls, texts: Iterable[str], at: datetime, scope: str | None = None) -> Situation:
        """Gather the words of everything said."""
        words = {term for text in texts for term in terms(text)}
        if scope:
            words.update(terms(scope.replace(".", " ")))
        return cls(frozenset(words), at, scope)

    def mentions(self, text: str) -> bool:
        """True where at least half of what ``text`` names was said."""
        wanted = {term for term in terms(text.replace("_", " ")) if term not in _FRAME}
        return bool(wanted) and 2 * len(wanted & self.said) >= len(wanted)


def holds(content: Content, situation: Situation) -> bool | None:
    """Evaluate scope and all conditions of a memory: False beats None beats True."""
    verdicts = [condition_holds(condition, situation) for condition in content.conditions]
    verdicts.append(scope_holds(content.scope, situation))
    if False in verdicts:
        return False
    return None if None in verdicts else True


def scope_holds(scope: str, situation: Situation) -> bool:
    """A scoped memory serves its scope only: named by the asker (by segments, R12) or plainly spoken of."""
    if scope == GLOBAL_SCOPE:
        return True
    if situation.scope is not None:
        have, want = situation.scope.split("."), scope.split(".")
        return have[: len(want)] == want
    return situation.mentions(scope.rsplit(".", 1)[-1])


def condition_holds(condition: str, situation: Situation) -> bool | None:
    """Evaluate one condition."""
    text = fold(condition)
    exception = _EXCEPT.match(text)
    if exception:
        # The exception is taken to be absent until it is spoken of, else a default would never apply.
        return not _positive(text[exception.end() :], situation)
    return _positive(text, situation)


def _positive(text: str, situation: Situation) -> bool | None:
    clock = _by_clock(text, situation.at)
    if clock is not None:
        return clock
    return True if situation.mentions(text) else None


def _by_clock(text: str, at: datetime) -> bool | None:
    words = set(terms(text.replace("_", " ")))
    days = [days for name, days in _DAYS.items() if _named(name, text, words)]
    if days:
        return any(at.weekday() in some for some in days)
    hours = [hours for name, hours in _HOURS.items() if _named(name, text, words)]
    if hours:
        return any(_within(at.hour, start, stop) for start, stop in hours)
    return None


def _named(name: str, text: str, words: set[str]) -> bool:
    return name in words if name.isascii() else name in text


def _within(hour: int, start: int, stop: int) -> bool:
    return start <= hour < stop if start < stop else hour >= start or hour < stop
