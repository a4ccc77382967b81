"""What belongs to which clause: conditions, names, likes of others, lists (C5, F6, W12)."""

import pytest

from tests.unit.extractor.spoken import claims, drafts


def bounded(text: str) -> dict[str, tuple[str, ...]]:
    return {draft.content.value: draft.content.conditions for draft in drafts(text)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Espresso on weekdays, please, but I prefer cocoa on weekends.", {"cocoa": ("when.weekend",)}),
        (
            "I prefer rye in the morning and barley at night.",
            {"rye": ("when.morning",), "barley": ("when.night",)},
        ),
        ("I love plums and figs in summer.", {"plums": ("when.summer",), "figs": ("when.summer",)}),
        (
            "In winter I love sledging, but I prefer rowing in summer.",
            {"sledging": ("when.winter",), "rowing": ("when.summer",)},
        ),
        ("I hate milk, and on weekends I enjoy baking.", {"milk": (), "baking": ("when.weekend",)}),
        ("On my phone I use Firefox, but at work I use Chrome.", {"Firefox": ("on.phone",), "Chrome": ("at.work",)}),
        ("When it rains I like puzzles.", {"puzzles": ("when.it_rains",)}),
        ("On weekends in winter I love chess", {"chess": ("when.weekend", "when.winter")}),
        ("我平时喜欢游泳", {"游泳": ()}),
        ("平日咖啡，周末可可", {"咖啡": ("when.weekday",), "可可": ("when.weekend",)}),
    ],
)
def test_a_condition_bounds_its_own_statement(text: str, wanted: dict[str, tuple[str, ...]]) -> None:
    assert bounded(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "我昨天做了一道新菜，叫做蚂蚁上树",
        "最近我在追一部剧，名叫琅琊榜",
        "我们团队在做一个项目，叫长庚",
        "晚上遛弯回来",
        "晚上10点才收工",
        "晚上火锅",
        "周末找个安静的地方歇一下",
    ],
)
def test_what_is_brought_up_is_not_the_speaker(text: str) -> None:
    assert claims(text) == []


def test_the_likes_of_a_pet_are_its_own() -> None:
    assert [key for key, _, _ in claims("我养了一只兔子，喜欢啃纸箱")] == ["has.兔子"]
    assert ("likes.下棋", "下棋", "positive") in claims("我叫周舟，喜欢下棋")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("我喜欢唱戏、弹吉他和喝茶", ["唱戏", "弹吉他", "喝茶"]),
        ("我喜欢拉琴、弹琵琶和品香", ["拉琴", "弹琵琶", "品香"]),
        ("我最喜欢历史小说和人文地理", ["历史小说", "人文地理"]),
        ("我喜欢在公园、河边和山里跑步", ["在公园、河边和山里跑步"]),
        ("I love baking sweets like brownies, lemon tart and scones", ["baking sweets"]),
        ("I want to visit towns like Ghent, Bruges, and Namur", ["visit towns like Ghent, Bruges, and Namur"]),
    ],
)
def test_lists_keep_what_belongs_together(text: str, values: list[str]) -> None:
    assert [value for _, value, _ in claims(text)] == values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I love to read", "I enjoy reading"),
        ("I like to bake", "I love baking"),
        ("I like playing the flute", "I love the flute"),
    ],
)
def test_doing_has_one_key_however_it_is_said(one: str, other: str) -> None:
    assert claims(one)[0][0] == claims(other)[0][0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "On weekdays I prefer coffee, on weekends I prefer tea",
            {"coffee": ("when.weekday",), "tea": ("when.weekend",)},
        ),
        (
            "In winter I love skiing, at the weekend I prefer surfing",
            {"skiing": ("when.winter",), "surfing": ("when.weekend",)},
        ),
        ("On weekdays I drink espresso, at weekends I prefer tea", {"tea": ("when.weekend",)}),
        ("On weekdays, in the morning, I prefer coffee", {"coffee": ("when.morning", "when.weekday")}),
        ("I prefer tea at weekends", {"tea": ("when.weekend",)}),
        ("I like tea, I hate milk", {"tea": (), "milk": ()}),
    ],
)
def test_statements_that_a_comma_parts_have_their_own_conditions(text: str, found: dict[str, tuple[str, ...]]) -> None:
    assert {draft.content.value: draft.content.conditions for draft in drafts(text)} == found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I use VS Code for Python and Vim for Rust", {"VS Code": "for.python", "Vim": "for.rust"}),
        ("I use VS Code for writing Python, and for Rust I use Vim.", {"VS Code": "for.python", "Vim": "for.rust"}),
        ("I use Vim at work and VS Code at home", {"Vim": "at.work", "VS Code": "at.home"}),
        (
            "I use PostgreSQL for work and SQLite for side projects",
            {"PostgreSQL": "at.work", "SQLite": "for.side_projects"},
        ),
        ("I prefer VS Code for Python", {"VS Code": "for.python"}),
        ("My favourite editor for Rust is Vim", {"Vim": "for.rust"}),
        ("写 Python 用 VS Code，写 Rust 用 Vim", {"VS Code": "for.python", "Vim": "for.rust"}),
        ("我用 Vim 写 Rust 了", {"Vim": "for.rust"}),
        ("我用 VS Code 写 Python，用 Vim 写 Rust", {"VS Code": "for.python", "Vim": "for.rust"}),
        ("Python 用 PyCharm，Go 用 GoLand", {"PyCharm": "for.python", "GoLand": "for.go"}),
        ("工作用 Linux，家里用 macOS", {"Linux": "at.work", "macOS": "at.home"}),
    ],
)
def test_a_choice_holds_for_its_purpose(text: str, wanted: dict[str, str]) -> None:
    found = drafts(text)
    assert {draft.content.value: draft.content.conditions for draft in found} == {
        thing: (condition,) for thing, condition in wanted.items()
    }
    assert len({draft.content.key for draft in found}) == 1


@pytest.mark.parametrize(
    "text", ["I've used Vim for years", "I use Vim for everything", "I use Vim for now and ever", "我用 Vim 写代码"]
)
def test_what_is_no_purpose_bounds_nothing(text: str) -> None:
    assert all(draft.content.conditions == () for draft in drafts(text))


@pytest.mark.parametrize("text", ["I use Vim for coding", "我现在改用 Vim 写代码了，以前用 Emacs。"])
def test_writing_code_is_what_an_editor_is_for(text: str) -> None:
    assert [(draft.content.value, draft.content.conditions) for draft in drafts(text)] == [("Vim", ())]


def test_what_somebody_else_uses_for_a_purpose_is_theirs() -> None:
    assert drafts("他写 Python 用 Vim，写 Rust 用 Emacs") == ()
