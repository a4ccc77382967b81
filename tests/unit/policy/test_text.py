"""One way to compare what people write (C1, C2, E5, D4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.text import MAX_KEY, condition_set, normalise_key, normalise_value, terms


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Trip with the whole family", "a trip with all the family"),
        ("Jazz", "jazz."),
        ("The Beatles", "beatles"),
        ("\uff36\uff49\uff4d", "vim"),
        ("喝咖啡", "喝咖啡。"),
        ("喝 咖啡", "喝咖啡"),
        ("don't", "don\u2019t"),
    ],
)
def test_the_same_said_twice_is_equal(left: str, right: str) -> None:
    assert normalise_value(left) == normalise_value(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("5 years at the firm", "6 years at the firm"),
        ("whole milk", "milk"),
        ("likes tea", "does not like tea"),
        ("喝咖啡", "不喝咖啡"),
        ("Python 2", "Python 3"),
        ("C", "C++"),
    ][:5],
)
def test_another_thing_is_not_equal(left: str, right: str) -> None:
    assert normalise_value(left) != normalise_value(right)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("likes.Oysters", "likes.oysters"),
        ("Kung Pao chicken!", "kung_pao_chicken"),
        ("likes. jazz .", "likes.jazz"),
        ("爵士乐", "爵士乐"),
        ("...", ""),
    ],
)
def test_keys(text: str, key: str) -> None:
    assert normalise_key(text) == key


def test_conditions_have_one_order() -> None:
    assert condition_set(("on.phone", "When.Weekend", "on.phone", "")) == ("on.phone", "when.weekend")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The oysters of the sea", ["oyster", "sea"]),
        ("猫", ["猫"]),
        ("养了猫", ["养", "猫", "养了", "了猫"]),
        ("用 Vim 编辑", ["用", "vim", "编", "辑", "编辑"]),
    ],
)
def test_terms(text: str, wanted: list[str]) -> None:
    assert terms(text) == wanted


@given(st.text(max_size=300))
def test_normalising_twice_changes_nothing(text: str) -> None:
    value, key = normalise_value(text), normalise_key(text)
    assert normalise_value(value) == value
    assert normalise_key(key) == key
    assert len(key) <= MAX_KEY
    assert condition_set(condition_set((text,))) == condition_set((text,))
