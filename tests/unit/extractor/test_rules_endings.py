"""What is no longer so, in both languages: it ends a fact, and the polarity of what ends is kept (W12)."""

import pytest

from schemas.words import Polarity
from tests.unit.extractor.spoken import claims, drafts, only

ENDS = {
    "I used to live in Paris": ("home", "Paris"),
    "I used to work at Initech": ("employer", "Initech"),
    "I'm no longer working for Initech": ("employer", "Initech"),
    "I left Initech last year": ("employer", "Initech"),
    "I used to be a teacher": ("job", "teacher"),
    "I'm not a teacher anymore": ("job", "teacher"),
    "I used to be vegan": ("diet", "vegan"),
    "I'm no longer married": ("marital_status", "married"),
    "I no longer have a cat": ("has.cat", "a cat"),
    "I don't have a dog anymore": ("has.dog", "a dog"),
    "I stopped playing chess": ("plays.chess", "chess"),
    "I'm not learning Spanish anymore": ("learning.spanish", "Spanish"),
    "I gave up coffee": ("likes.coffee", "coffee"),
    "I've quit smoking": ("likes.smoking", "smoking"),
    "I used to drink coffee": ("likes.coffee", "coffee"),
    "I used to use Vim": ("editor", "Vim"),
    "我以前住在杭州": ("home", "杭州"),
    "我之前在大疆上班": ("employer", "大疆"),
    "我不在大疆工作了": ("employer", "大疆"),
    "我已经从大疆离职了": ("employer", "大疆"),
    "我曾经是护士": ("job", "护士"),
    "我已经不是护士了": ("job", "护士"),
    "我不养狗了": ("has.狗", "狗"),
    "我不再学日语了": ("learning.日语", "日语"),
    "我戒烟了": ("likes.烟", "烟"),
}


@pytest.mark.parametrize(("text", "ended"), ENDS.items())
def test_it_ends(text: str, ended: tuple[str, str]) -> None:
    draft = only(text)
    assert (draft.content.key, draft.content.value) == ended
    assert draft.ends
    assert draft.replaces
    assert draft.polarity is (Polarity.NEUTRAL)


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("I used to love jazz", Polarity.POSITIVE),
        ("I used to hate jazz", Polarity.NEGATIVE),
        ("我以前很喜欢爵士乐", Polarity.POSITIVE),
        ("我曾经讨厌爵士乐", Polarity.NEGATIVE),
    ],
)
def test_a_former_taste_ends_with_its_own_polarity(text: str, polarity: Polarity) -> None:
    draft = only(text)
    assert (draft.ends, draft.polarity) == (True, polarity)
    assert draft.content.key in ("likes.jazz", "likes.爵士乐")


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("I no longer drink coffee", "coffee"),
        ("I don't drink coffee anymore", "coffee"),
        ("I stopped eating meat", "meat"),
        ("我不再喝咖啡了", "咖啡"),
        ("我不喝咖啡了", "咖啡"),
    ],
)
def test_what_is_no_longer_eaten_or_drunk_is_avoided_and_no_longer_liked(text: str, thing: str) -> None:
    avoided, ended = drafts(text)
    assert (avoided.content.key, avoided.ends, avoided.polarity) == (f"diet.{thing}", False, Polarity.NEGATIVE)
    assert (ended.content.key, ended.ends) == (f"likes.{thing}", True)


@pytest.mark.parametrize("text", ["I quit my job", "I left my job", "我辞职了", "我已经离职了"])
def test_leaving_a_job_ends_whatever_it_was(text: str) -> None:
    found = {draft.content.key: draft for draft in drafts(text)}
    assert set(found) == {"job", "employer"}
    assert all(draft.ends and draft.content.value == "" for draft in found.values())


@pytest.mark.parametrize(
    "text",
    [
        "I work at Globex now. I no longer work at Initech.",
        "I no longer work at Initech, I work at Globex now",
        "我不在大疆工作了，我在华为工作",
    ],
)
def test_the_end_of_one_value_is_no_word_on_the_next(text: str) -> None:
    found = drafts(text)
    assert {(draft.content.value, draft.ends) for draft in found} in (
        {("Globex", False), ("Initech", True)},
        {("华为", False), ("大疆", True)},
    )


@pytest.mark.parametrize(
    "text",
    [
        "I'm used to living in Paris",
        "My dad used to work at Initech",
        "He no longer works at Initech",
        "I used to live in Paris and I live there again",
        "The songs I used to love are forgotten",
        "我朋友以前在大疆工作",
        "我妈妈不喝咖啡了",
        "我不吃了",
        "我不再学习了",
    ],
)
def test_what_ends_nothing_of_the_speaker(text: str) -> None:
    assert claims(text) == []
