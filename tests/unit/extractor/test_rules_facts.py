"""Facts, goals, tools, orders, conditions and times (W3, W4, W6, W12; B4, D1, D2, D4, D6, D10, F15)."""

from datetime import UTC, datetime

import pytest

from consumers.extractor.rules.claim import LAST
from schemas.words import MemoryType, Polarity, Sensitivity
from tests.unit.extractor.spoken import claims, drafts, only


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Hello, my name is Ann Lee.", "name", "Ann Lee"),
        ("Hi, I'm Ann.", "name", "Ann"),
        ("my name is ann", "name", "Ann"),
        ("You can call me Annie", "nickname", "Annie"),
        ("I live in Lyon.", "home", "Lyon"),
        ("I'm from New York", "hometown", "New York"),
        ("I am 28 years old", "age", "28"),
        ("My birthday is May 3rd", "birthday", "May 3rd"),
        ("I'm a software engineer", "job", "software engineer"),
        ("I work at Initech", "employer", "Initech"),
        ("I have a dog.", "has.dog", "a dog"),
        ("I have a cat named Bean", "has.cat", "a cat named Bean"),
        ("I have two daughters", "has.two_daughters", "two daughters"),
        ("My manager is Nadia", "relation.manager", "Nadia"),
        ("I'm vegetarian", "diet", "vegetarian"),
        ("I don't eat pork", "diet.pork", "pork"),
        ("I'm learning the guitar", "learning.guitar", "the guitar"),
        ("5 years at the firm", "tenure.firm", "5 years at the firm"),
        ("6 years at the firm", "tenure.firm", "6 years at the firm"),
        ("你好，我叫李雷", "name", "李雷"),
        ("你可以叫我小李吧", "nickname", "小李"),
        ("我住在上海", "home", "上海"),
        ("我搬到杭州了", "home", "杭州"),
        ("我是四川人", "hometown", "四川"),
        ("我今年28岁", "age", "28"),
        ("我的生日是5月3日", "birthday", "5月3日"),
        ("我是一名软件工程师", "job", "软件工程师"),
        ("我在小米上班", "employer", "小米"),
        ("我养了一只猫叫豆包", "has.猫", "一只猫叫豆包"),
        ("我老婆叫王芳", "relation.老婆", "王芳"),
        ("我不吃猪肉", "diet.猪肉", "猪肉"),
        ("我最近在学木工", "learning.木工", "木工"),
        ("我的性格有点慢热", "personality", "慢热"),
    ],
)
def test_facts(text: str, key: str, value: str) -> None:
    draft = only(text)
    assert draft.type is MemoryType.FACT
    if key != "has.two_daughters":
        assert draft.content.key == key
    assert draft.content.value == value


def test_the_subject_goes_on() -> None:
    assert [key for key, _, _ in claims("我叫小明，今年28岁，住在上海")] == ["name", "age", "home"]


@pytest.mark.parametrize(
    "text",
    [
        "I am a bit confused",
        "I'm sad today",
        "I have a cold",
        "I have a question",
        "I live in fear",
        "I'm learning new things",
        "我是一个人来的",
        "我在学习",
        "我叫了外卖",
        "我是说真的",
        "我可能是抑郁了",
        "我在找工作",
        "My friend lives in Lyon",
        "我朋友住在上海",
    ],
)
def test_what_is_no_stable_fact(text: str) -> None:
    assert drafts(text) == ()


@pytest.mark.parametrize("text", ["我对花生过敏。", "I'm allergic to peanuts.", "I have diabetes", "我有糖尿病"])
def test_health_is_sensitive_and_has_no_minimum_length(text: str) -> None:
    draft = only(text)
    assert draft.sensitivity is Sensitivity.SENSITIVE
    assert draft.content.namespace == "health"


@pytest.mark.parametrize(
    ("first", "second", "key", "values"),
    [
        ("My favourite editor is Vim.", "I now use Helix.", "editor", ("Vim", "Helix")),
        ("项目用 PostgreSQL。", "改成 MySQL 了。", "database", ("PostgreSQL", "MySQL")),
        ("I live in Lyon.", "I moved to Porto.", "home", ("Lyon", "Porto")),
        ("我用 Vim 写代码", "现在改用 Helix 了", "editor", ("Vim", "Helix")),
        ("数据库用 MySQL", "不是 MySQL，是 PostgreSQL", "database", ("MySQL", "PostgreSQL")),
        ("My name is Jon", "My name is not Jon but John", "name", ("Jon", "John")),
    ],
)
def test_a_change_of_mind_shares_the_slot(first: str, second: str, key: str, values: tuple[str, str]) -> None:
    old, new = only(first), only(second)
    assert (old.content.namespace, old.content.key) == (new.content.namespace, new.content.key)
    assert old.content.key == key
    assert (old.content.value, new.content.value) == values
    assert new.replaces
    assert not old.replaces


def test_systems_have_slots_of_their_own() -> None:
    a, b = only("A uses Postgres."), only("B uses Postgres 17.")
    assert a.content.key != b.content.key
    assert b.content.value == "Postgres 17"
    assert drafts("Omar uses Vim.") == ()


@pytest.mark.parametrize(
    "text", ["I changed my mind: I prefer tea", "我改主意了，我喜欢喝茶", "Actually my name is John"]
)
def test_a_stated_change_of_mind_replaces(text: str) -> None:
    assert only(text).replaces


@pytest.mark.parametrize(
    ("text", "key", "conditions", "unresolved"),
    [
        ("Coffee on weekdays.", "likes.coffee", ("when.weekday",), False),
        ("Tea on weekends.", "likes.tea", ("when.weekend",), False),
        ("I like coffee in the morning", "likes.coffee", ("when.morning",), False),
        ("我周末喜欢喝茶", "likes.茶", ("when.weekend",), False),
        ("Python by default", "language", (), False),
        ("Go for this project's backend", "language", ("in.project.backend",), True),
        ("这个项目的后端用 Go", "language", ("in.project.后端",), True),
        ("I use Python, except for data analysis", "language", ("except.data_analysis",), False),
        ("除了数据分析，我都用 Python", "language", ("except.数据分析",), False),
        ("On my phone I prefer short answers", "likes.short_answers", ("on.phone",), False),
    ],
)
def test_conditions(text: str, key: str, conditions: tuple[str, ...], unresolved: bool) -> None:
    draft = only(text)
    assert (draft.content.key, draft.content.conditions) == (key, conditions)
    assert draft.unresolved_scope is unresolved


@pytest.mark.parametrize(
    ("text", "value", "ends"),
    [
        ("This quarter I want to learn Spanish", "learn Spanish", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        (
            "My goal is to run a marathon by October",
            "run a marathon by October",
            datetime(2026, 10, 31, 23, tzinfo=UTC),
        ),
        ("My goal is to learn Spanish", "learn Spanish", None),
        ("我这个季度打算学西班牙语", "学西班牙语", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        ("我的目标是跑完一场马拉松", "跑完一场马拉松", None),
    ],
)
def test_goals_end_with_the_time_they_name(text: str, value: str, ends: datetime | None) -> None:
    draft = only(text)
    assert draft.type is MemoryType.GOAL
    assert draft.content.value == value
    assert draft.expires_at == ends


def test_a_goal_of_next_month_begins_with_it() -> None:
    draft = only("Next month I want to travel to Japan")
    assert draft.valid_from == datetime(2026, 5, 31, 22, tzinfo=UTC)
    assert draft.expires_at == datetime(2026, 6, 30, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "I want to find a hammer",
        "I'm planning to go out for dinner tonight",
        "I want to talk to you",
        "I plan to clean up today",
        "我想找一家书店",
        "我打算今晚吃火锅",
        "我想和你聊聊",
    ],
)
def test_a_wish_of_the_moment_is_no_goal(text: str) -> None:
    assert drafts(text) == ()


def test_a_preference_with_a_time_is_temporary() -> None:
    draft = only("This week I prefer short answers")
    assert draft.type is MemoryType.TEMPORARY_PREFERENCE
    assert draft.expires_at == datetime(2026, 5, 17, 22, tzinfo=UTC)
    assert only("Today I went out, and I love walking").type is MemoryType.PREFERENCE


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Remember that I love jazz", "likes.jazz", "jazz"),
        ("Please remember: my name is Ann", "name", "Ann"),
        ("记住我养了一只猫叫豆包。", "has.猫", "一只猫叫豆包"),
        ("请记住，我喜欢爵士乐", "likes.爵士乐", "爵士乐"),
        ("Remember that our standup is at ten on Mondays", "standup_ten_monday", "our standup is at ten on Mondays"),
        ("帮我记一下：我们的例会在周一十点", "我们的例会在周一十点", "我们的例会在周一十点"),
    ],
)
def test_remember_is_explicit(text: str, key: str, value: str) -> None:
    draft = only(text)
    assert draft.explicit
    assert (draft.content.key, draft.content.value) == (key, value)


@pytest.mark.parametrize(
    "text",
    [
        "I remember when I was a kid",
        "Do you remember my name?",
        "你还记得我叫什么吗？",
        "好的，我记住了，谢谢你",
        "remember to call mom tomorrow",
        "Remember this rule forever",
        "记住这个",
        "Remember my order number 1234",
        "记住我的订单号 1234",
    ],
)
def test_what_is_no_order_to_remember(text: str) -> None:
    assert drafts(text) == ()


@pytest.mark.parametrize("text", ["Remember that my wife likes roses", "记住我朋友喜欢打球"])
def test_third_parties_stay_marked(text: str) -> None:
    assert all(draft.third_party for draft in drafts(text))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("forget that I like opera", "likes.opera"),
        ("Please forget that I live in Lyon", "home"),
        ("忘掉我喜欢爵士乐这件事", "likes.爵士乐"),
    ],
)
def test_forget_names_a_slot_and_ends_it(text: str, key: str) -> None:
    draft = only(text)
    assert draft.ends
    assert draft.explicit
    assert draft.content.key == key
    assert draft.target is None


@pytest.mark.parametrize("text", ["Forget that.", "forget it", "删除这条记忆。", "别记了", "忘掉吧"])
def test_forget_that_points_at_the_last_memory(text: str) -> None:
    draft = only(text)
    assert draft.ends
    assert draft.target == LAST


@pytest.mark.parametrize(
    ("text", "key", "value", "polarity"),
    [
        ("From now on, answer in French", "response_language", "French", Polarity.POSITIVE),
        ("以后都用中文回答我", "response_language", "中文", Polarity.POSITIVE),
        ("Never use emojis", "instruction.use_emojis", "use emojis", Polarity.NEGATIVE),
        ("Always use metric units", "instruction.use_metric_unit", "use metric units", Polarity.POSITIVE),
        ("每次都先给结论", "instruction.先给结论", "先给结论", Polarity.POSITIVE),
    ],
)
def test_standing_instructions(text: str, key: str, value: str, polarity: Polarity) -> None:
    draft = only(text)
    assert (draft.content.key, draft.content.value, draft.polarity) == (key, value, polarity)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("I'm not vegetarian anymore", "diet"),
        ("I no longer work at Initech", "employer"),
        ("I don't live in Lyon anymore", "home"),
        ("I no longer use Vim", "editor"),
        ("我已经不吃素了", "diet"),
        ("我不住在北京了", "home"),
        ("我们不再用 MySQL 了", "database"),
    ],
)
def test_no_longer_ends_a_fact(text: str, key: str) -> None:
    draft = only(text)
    assert draft.ends
    assert draft.content.key == key


@pytest.mark.parametrize("text", ["Maybe I like jazz", "I guess I prefer tea", "可能我喜欢爵士乐吧"])
def test_a_hedged_claim_is_weak(text: str) -> None:
    assert only(text).confidence < 0.55


@pytest.mark.parametrize("text", ["Can you remember that I prefer dark mode?", "你能记住我喜欢深色模式吗？"])
def test_a_polite_question_orders(text: str) -> None:
    assert only(text).explicit
