"""Conditions are taken out of a clause, named alike in both languages, and tested in recall (C5, D10)."""

from datetime import datetime

import pytest

from policy.conditions import holds, strip_conditions
from policy.text import terms


@pytest.mark.parametrize(
    ("text", "rest", "conditions", "unresolved"),
    [
        ("Coffee on weekdays", "Coffee", ("when.weekday",), False),
        ("Tea on weekends", "Tea", ("when.weekend",), False),
        ("I prefer Go for this project's backend", "I prefer Go", ("in.project.backend",), True),
        ("I use Go in our project", "I use Go", ("in.project",), False),
        ("I use Python, except for data analysis", "I use Python", ("except.data_analysis",), False),
        ("On my phone I prefer short answers", "I prefer short answers", ("on.phone",), False),
        ("I drink coffee in the morning", "I drink coffee", ("when.morning",), False),
        ("when I'm tired I like jazz", "I like jazz", ("when.tired",), False),
        ("我周末喜欢喝茶", "我喜欢喝茶", ("when.weekend",), False),
        ("我早上喜欢喝咖啡", "我喜欢喝咖啡", ("when.morning",), False),
        ("我在手机上喜欢短回答", "我喜欢短回答", ("on.phone",), False),
        ("除了数据分析，我都用 Python", "我都用 Python", ("except.数据分析",), False),
        ("这个项目的后端用 Go", "用 Go", ("in.project.后端",), True),
        ("我下班的时候喜欢跑步", "我喜欢跑步", ("when.下班",), False),
    ],
)
def test_conditions_are_named(text: str, rest: str, conditions: tuple[str, ...], unresolved: bool) -> None:
    stripped = strip_conditions(text)
    assert (stripped.text, stripped.conditions, stripped.unresolved) == (rest, conditions, unresolved)


@pytest.mark.parametrize(
    "text",
    ["I love summer", "我喜欢夏天", "我平时没事的时候喜欢下棋", "除了下棋，我还喜欢钓鱼", "I love being at home"],
)
def test_what_only_looks_like_a_condition_is_none(text: str) -> None:
    assert strip_conditions(text).conditions == ()


SATURDAY, MONDAY = datetime(2026, 5, 16, 9), datetime(2026, 5, 18, 9)


@pytest.mark.parametrize(
    ("condition", "local", "query", "answer"),
    [
        ("when.weekend", SATURDAY, "", True),
        ("when.weekend", MONDAY, "", False),
        ("when.weekday", MONDAY, "", True),
        ("when.morning", MONDAY, "", True),
        ("when.night", datetime(2026, 5, 16, 2), "", True),
        ("when.monday", MONDAY, "", True),
        ("when.summer", MONDAY, "", False),
        ("in.project.backend", MONDAY, "which language for the backend?", True),
        ("in.project.backend", MONDAY, "what to drink?", None),
        ("except.data_analysis", MONDAY, "data analysis", False),
        ("except.data_analysis", MONDAY, "write a server", True),
        ("except.数据分析", MONDAY, "做数据分析用什么", False),
    ],
)
def test_conditions_hold(condition: str, local: datetime, query: str, answer: bool | None) -> None:
    assert holds(condition, local, set(terms(query))) is answer
