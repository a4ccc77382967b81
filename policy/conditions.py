"""Conditions under which a claim holds: found in a clause, written as names, tested in recall (C5).

A condition is ``kind.what``: ``when.weekend``, ``on.phone``, ``at.work``, ``in.project.backend``,
``except.data_analysis``. Calendar ones are decided by the clock, the others by what the current input speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from policy.text import condition_set, normalise_key, terms


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the stripped text a condition stood; ``leads`` where it opened a statement."""

    name: str
    at: int
    leads: bool


@dataclass(frozen=True, slots=True)
class Stripped:
    """A clause without its conditions. ``unresolved``: it names "this project" and nobody knows which.

    ``places`` is known for English alone, where one sentence can hold several statements; Chinese is
    stripped clause by clause.
    """

    text: str
    conditions: tuple[str, ...] = ()
    unresolved: bool = False
    places: tuple[Place, ...] = ()


_MONTHS = {"spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11), "winter": (12, 1, 2)}
_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (21, 29)}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ALIAS_WORDS = {
    "weekday": "weekdays|the week|week|workdays|工作日|平日",
    "weekend": "weekends|the weekend|the weekends|周末",
    "morning": "早上|早晨|上午|清晨",
    "afternoon": "下午",
    "evening": "晚上|傍晚",
    "night": "夜里|深夜",
    "before_bed": "睡前",
    "spring": "春天",
    "summer": "夏天|夏季",
    "autumn": "fall|秋天",
    "winter": "冬天|冬季",
    "home": "家里|家",
    "work": "the office|office|公司|办公室|单位",
    "school": "学校",
    "phone": "mobile|手机",
    "computer": "电脑",
    "tablet": "ipad|平板",
    "laptop": "笔记本",
}
_ALIASES = {word: name for name, words in _ALIAS_WORDS.items() for word in words.split("|")}
# Conditions that say nothing: "in my spare time I like to read" holds always.
_VAGUE = re.compile(
    r"^(?:i(?:'m| am) (?:free|bored|not busy|at leisure)|i have (?:free |spare |some )?time|free|bored"
    r"|possible|平时|没事|有空|空闲|闲暇|闲|有时间|业余|"
    r"休息|无聊|空余|没课|有机会)|(?:平|有|同|及|随|按|暂|当|小|那|这)$",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r",?\s*\b(?:"
    r"(?:on|at|during|over) (?P<week>weekdays?|(?:the )?weekends?|workdays|the week)"
    rf"|on (?P<day>(?:{'|'.join(_DAYS)}))s?"
    r"|in the (?P<hour>morning|afternoon|evening)s?|at (?P<night>night)"
    r"|in (?:the )?(?P<season>spring|summer|autumn|fall|winter)(?:time)?\b"
    r"|(?:after|before) (?P<meal>work|school|dinner|lunch|breakfast|bed)"
    r"|(?<!\bbeing )(?<!\bbe )at (?P<place>work|home|school|the office)"
    r"|on (?:my|the) (?P<device>phone|laptop|tablet|computer|desktop|ipad|mobile)"
    r"|(?:in|for|on|with) (?P<which>this|that|our|my|the) (?P<what>project|repo|repository"
    r"|codebase)(?:(?:'s|\u2019s) (?P<part>[\w\-]+))?"
    r"|(?:except(?: for| when| in| on| with)?|but not (?:for|when|in|on|with)) (?P<not>[\w\- ]+?)(?=[.,;!?]|$)"
    r"|when(?:ever)? (?P<free>(?:i(?:'m| am)? |i've )?[\w'\- ]+?)(?=[.,;!?]|$| i\b))",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?<![欢爱厌是])(?:每到|每逢|在|到了?)?(?P<time>工作日|平日(?!里)|周末|早上|早晨|清晨|上午|下午"
    r"|晚上|傍晚|夜里|深夜|睡前)(?:的?时候|里)?(?!去|到|我去)"
    r"|(?<![欢爱厌是])(?:每到|每逢|在)?(?P<season>[春夏秋冬]天|[夏冬]季)(?:的?时候|里)?"
    r"|在(?P<place>家里?|公司|办公室|单位|学校)(?:里|的时候|时)?(?!工作|上班|上学)"
    r"|(?:在|用)(?:我的)?(?P<device>手机|电脑|平板|笔记本)上?(?:的时候|时)?"
    r"|(?:在)?(?P<which>这个?|该|本|我们的?|我的)?项目(?:的(?P<part>[\w]{2,6}?))?(?:[里中上]|的时候)"
    r"|在?(?P<which2>这个|该|本)项目的?(?P<part2>前端|后端|测试|文档|代码)?"
    r"|除了?(?P<not>[^，。！？、还也都]{1,14}?)(?:之外|以外|外|时)?(?=，?(?P<also>我?.{0,2}[还也])|，|我?都|其他|一律)"
    r"|(?:当我?|我?在|我)?(?P<free>[^，。！？我]{1,10}?)(?:的时候|之?时(?=，|我|喜))"
)


_LATIN = re.compile("[A-Za-z]")
_CHINESE_CUE = re.compile("时|工作日|平日|周末|[早晚夜傍清]|[上下]午|睡前|[春夏秋冬]|在|用|项目|除")


def strip_conditions(text: str) -> Stripped:
    """Take the conditions out of a clause and name them."""
    found: list[str] = []
    unresolved = False

    def take(match: re.Match[str]) -> str:
        nonlocal unresolved
        name, open_scope = _name({key: value for key, value in match.groupdict().items() if value})
        if name is None and not open_scope and match.groupdict().get("free"):
            return "我" if match[0].startswith("我") or match[0].startswith("当我") else ""
        if name:
            found.append(name)
        unresolved = unresolved or open_scope
        return "我" if "我" in match[0][:2] and "们" not in match[0][:3] and "的" not in match[0][:3] else ""

    rest, places = _located(text, take, found) if _LATIN.search(text) else (text, [])
    if not rest.isascii() and _CHINESE_CUE.search(rest):
        rest = _CHINESE.sub(take, rest)
        places = []
    if rest == text:
        return Stripped(text)
    bare = rest.strip(" ,，")
    lead = rest.index(bare)
    located = tuple(Place(place.name, max(place.at - lead, 0), place.leads) for place in places)
    return Stripped(bare, condition_set(found), unresolved, located)


_SPEAKS = re.compile(r"\s*,?\s*i(?:'| )", re.IGNORECASE)
_OPENS = re.compile(r"(?:^|[,;]|\b(?:and|but|while|though|so))\s*$", re.IGNORECASE)


def _located(text: str, take: Callable[[re.Match[str]], str], found: list[str]) -> tuple[str, list[Place]]:
    """Take out English conditions; ``take`` appends their names to ``found``."""
    rest, done = "", 0
    places: list[Place] = []
    for match in _ENGLISH.finditer(text):
        rest += text[done : match.start()]
        known = len(found)
        kept = take(match)
        leads = match[0].startswith(",") or _OPENS.search(text, 0, match.start()) is not None
        if match[0].startswith(",") and rest and _SPEAKS.match(text, match.end()):
            # "I love skiing, in summer I prefer surfing": the comma parts two statements.
            rest += ","
        places += (Place(name, len(rest), leads) for name in found[known:])
        rest += kept
        done = match.end()
    return rest + text[done:], places


def _name(groups: dict[str, str]) -> tuple[str | None, bool]:
    """Return the name of a condition (None where it says nothing), and whether its scope is unknown."""
    for key in ("week", "day", "hour", "night", "season", "time"):
        if key in groups:
            return f"when.{_alias(groups[key])}", False
    if "meal" in groups:
        return f"when.{groups['meal'].lower()}", False
    if "place" in groups:
        return f"at.{_alias(groups['place'])}", False
    if "device" in groups:
        return f"on.{_alias(groups['device'])}", False
    if "not" in groups:
        return (None if "also" in groups else f"except.{normalise_key(groups['not'])}"), False
    if "free" in groups:
        return (None if _VAGUE.match(groups["free"]) else f"when.{_when(groups['free'])}"), False
    which = (groups.get("which") or groups.get("which2") or "").lower()
    part = groups.get("part") or groups.get("part2")
    name = f"in.project.{normalise_key(part)}" if part else "in.project"
    return name, which in ("this", "that", "这", "这个", "该", "本")


def _alias(word: str) -> str:
    word = word.lower()
    return _ALIASES.get(word) or _ALIASES.get(word.rstrip("s")) or normalise_key(word)


def _when(text: str) -> str:
    return normalise_key(re.sub(r"^(?:i(?:'m| am)?|i've) ", "", text, flags=re.IGNORECASE))


def holds(condition: str, local: datetime, spoken_of: Collection[str]) -> bool | None:
    """Return whether a condition holds, None where nothing tells.

    Args:
        condition: A name that ``strip_conditions`` gave.
        local: The speaker's local time.
        spoken_of: ``terms`` of the current input and its context.
    """
    kind, _, what = condition.partition(".")
    if kind == "when":
        by_clock = _by_clock(what, local)
        if by_clock is not None:
            return by_clock
    wanted = set(terms(what.replace("_", " ").replace(".", " "))) - {"project"}
    named = bool(wanted & set(spoken_of))
    if kind == "except":
        return not named
    return True if named else None


def _by_clock(what: str, local: datetime) -> bool | None:
    if what in ("weekday", "weekend"):
        return (local.weekday() < 5) == (what == "weekday")
    if what in _DAYS:
        return _DAYS.index(what) == local.weekday()
    if what in _MONTHS:
        return local.month in _MONTHS[what]
    if what in _HOURS:
        begins, ends = _HOURS[what]
        return begins <= local.hour < ends or begins <= local.hour + 24 < ends
    return None
