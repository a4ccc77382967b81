"""Likes and dislikes in Chinese and English (W4, W12, B5, F6)."""

import pytest

from schemas.words import MemoryType, Polarity
from tests.unit.extractor.spoken import claims, drafts, only


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I love oysters.", [("likes.oysters", "oysters", "positive")]),
        ("I hate oysters now.", [("likes.oysters", "oysters", "negative")]),
        ("I can't stand cilantro.", [("likes.cilantro", "cilantro", "negative")]),
        ("I can\u2019t stand cilantro.", [("likes.cilantro", "cilantro", "negative")]),
        ("I don't really like crowds", [("likes.crowds", "crowds", "negative")]),
        ("I'm not a fan of horror movies", [("likes.horror_movies", "horror movies", "negative")]),
        ("I'm a big fan of jazz", [("likes.jazz", "jazz", "positive")]),
        ("I've always loved chess", [("likes.chess", "chess", "positive")]),
        ("I enjoy listening to jazz", [("likes.jazz", "listening to jazz", "positive")]),
        ("I prefer tea to coffee", [("likes.tea", "tea", "positive")]),
        ("Green is my favourite colour.", [("favourite.colour", "Green", "positive")]),
        ("my favorite color is green", [("favourite.colour", "green", "positive")]),
        (
            "My hobbies are chess and baking",
            [("likes.chess", "chess", "positive"), ("likes.baking", "baking", "positive")],
        ),
        ("I like hiking, chess and tea", [(f"likes.{it}", it, "positive") for it in ("hiking", "chess", "tea")]),
        (
            "I love coffee and tea but hate milk",
            [
                ("likes.coffee", "coffee", "positive"),
                ("likes.tea", "tea", "positive"),
                ("likes.milk", "milk", "negative"),
            ],
        ),
        ("I like black and white films", [("likes.black_and_white_films", "black and white films", "positive")]),
        ("I love sports such as tennis", [("likes.tennis", "tennis", "positive")]),
        ("i love jazz", [("likes.jazz", "jazz", "positive")]),
        ("我喜欢爵士乐。", [("likes.爵士乐", "爵士乐", "positive")]),
        ("我非常喜欢听爵士乐", [("likes.爵士乐", "听爵士乐", "positive")]),
        ("我受不了香菜。", [("likes.香菜", "香菜", "negative")]),
        ("我不太喜欢人多的地方", [("likes.人多的地方", "人多的地方", "negative")]),
        ("我爱吃辣", [("likes.辣", "吃辣", "positive")]),
        ("我对摄影很感兴趣", [("likes.摄影", "摄影", "positive")]),
        ("我对足球没什么兴趣", [("likes.足球", "足球", "negative")]),
        ("我的爱好是下棋和钓鱼", [("likes.下棋", "下棋", "positive"), ("likes.钓鱼", "钓鱼", "positive")]),
        ("我最喜欢的颜色是绿色", [("favourite.colour", "绿色", "positive")]),
        ("秋天是我最喜欢的季节", [("favourite.season", "秋天", "positive")]),
        ("我现在最喜欢蓝色了", [("favourite.colour", "蓝色", "positive")]),
        ("我最喜欢秋天", [("favourite.season", "秋天", "positive")]),
        ("我最喜欢打篮球", [("favourite.sport", "打篮球", "positive")]),
        ("I like blue best", [("favourite.colour", "blue", "positive")]),
        ("Autumn is my favourite", [("favourite.season", "Autumn", "positive")]),
        ("我最喜欢喝龙井茶", [("likes.龙井茶", "喝龙井茶", "positive")]),
        ("我很喜欢蓝色", [("likes.蓝色", "蓝色", "positive")]),
        ("我喜欢下棋，钓鱼，爬山", [(f"likes.{it}", it, "positive") for it in ("下棋", "钓鱼", "爬山")]),
        ("我不喜欢咖啡，我喜欢茶", [("likes.咖啡", "咖啡", "negative"), ("likes.茶", "茶", "positive")]),
        ("我喜欢读书，也喜欢爬山", [("likes.读书", "读书", "positive"), ("likes.爬山", "爬山", "positive")]),
        ("我喜欢爬山，你觉得去哪里好呢？", [("likes.爬山", "爬山", "positive")]),
    ],
)
def test_tastes(text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert claims(text) == wanted
    assert all(draft.type is MemoryType.PREFERENCE for draft in drafts(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I love oysters.", "I hate oysters now."),
        ("I love oysters.", "I no longer like oysters"),
        ("I like listening to jazz", "I don't like jazz"),
        ("我喜欢喝咖啡", "我不喜欢咖啡"),
        ("我喜欢爵士乐", "我讨厌爵士乐"),
        ("我最喜欢的季节是秋天", "My favourite season is autumn"),
    ],
)
def test_both_sides_share_a_key(one: str, other: str) -> None:
    assert only(one).content.key == only(other).content.key


@pytest.mark.parametrize(
    "text",
    [
        "我现在最喜欢蓝色了",
        "我最喜欢蓝色了",
        "我现在更喜欢蓝色",
        "My favourite colour is now blue",
        "I like blue best now",
    ],
)
def test_a_new_favourite_takes_the_place_of_the_old_one(text: str) -> None:
    draft = only(text)
    assert draft.replaces
    assert draft.content.key == only("我最喜欢的颜色是绿色").content.key


@pytest.mark.parametrize(
    "text",
    [
        "I no longer like jazz",
        "I don't like jazz anymore",
        "我不再喜欢爵士乐了",
        "我不喜欢爵士乐了",
        "I am no longer into jazz",
    ],
)
def test_no_longer_ends_a_taste(text: str) -> None:
    draft = only(text)
    assert draft.ends
    assert draft.replaces
    assert draft.polarity is Polarity.NEUTRAL


@pytest.mark.parametrize(
    "text",
    [
        "I love it",
        "I like that idea",
        "I like your suggestion",
        "I love you",
        "I'd love to go",
        "I would like a coffee",
        "The band I used to love broke up",
        "I used to love jazz, and I still do",
        "我以前喜欢爵士乐，现在也喜欢",
        "I loved the show",
        "I feel like crying",
        "I like this song",
        "我喜欢这个",
        "我喜欢你",
        "我爱你",
        "我喜欢的人来了",
        "我朋友喜欢打球",
        "我妈妈喜欢打网球",
        "My mom loves tennis",
        "My friend and I like tennis",
        "他很喜欢下棋，也喜欢钓鱼",
        "大家都说我喜欢安静",
        "He says I like jazz",
        "They think I hate jazz",
        "我喜欢那家店里的灯",
    ],
)
def test_what_is_no_taste_of_the_speaker(text: str) -> None:
    assert drafts(text) == ()


def test_a_wish_in_a_service_request_is_weak() -> None:
    draft = only("我喜欢安静，帮我找一家评分高的酒店吧")
    assert draft.confidence < 0.55


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I like to write songs and stage plays", ["write songs and stage plays"]),
        ("I love baking bread and hiking", ["baking bread", "hiking"]),
        ("I like Irish culture, dance and food", ["Irish culture, dance and food"]),
        ("I like horror and fantasy novels", ["horror and fantasy novels"]),
        ("我喜欢写歌词和剧本", ["写歌词和剧本"]),
        ("我喜欢做饭和跑步", ["做饭", "跑步"]),
        ("我喜欢法国的电影，音乐和美食", ["法国的电影，音乐和美食"]),
        ("我喜欢冰与火之歌", ["冰与火之歌"]),
        ("我喜欢温和的天气", ["温和的天气"]),
    ],
)
def test_what_belongs_together_is_one_thing(text: str, values: list[str]) -> None:
    assert [value for _, value, _ in claims(text)] == values
