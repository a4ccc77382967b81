"""Chinese facts of who the speaker is: name, home, origin, age, birthday, languages, personality."""

from __future__ import annotations

import re
from dataclasses import replace

from consumers.extractor.rules.claim import PROFILE, Claim
from consumers.extractor.rules.makers import Maker, Row, fact, keyed
from consumers.extractor.rules.subject_zh import BEFORE, END, NAME, NO_NAME, NOW

PLACE = rf"(?P<it>[^，。！？,.!\s、；的了我你他她这那]{{2,12}}?)(?:这边|附近|里面|市区)?{END}"
_NOT_PLACE = re.compile(
    r"家里?$|附近$|学校|公司|酒店|宾馆|一个|哪|什么|外面|楼|房子|公寓|宿舍|这里|这儿|那里|单位|民宿|郊区$|城里|乡下"
)


def _name(match: re.Match[str]) -> Claim | None:
    if re.search(NO_NAME, match["it"]):
        return None
    return fact("name", "zh.name", 0.9)(match)


def _nickname(match: re.Match[str]) -> Claim | None:
    value = re.sub(r"(?:就?行|就?好|就?可以|吧|哦|呀|啦)+$", "", match["it"])
    claim = fact("nickname", "zh.nickname", 0.7)(match) if len(value) > 1 else None
    return claim and replace(claim, value=value, end=match.start("it") + len(value))


def _home(match: re.Match[str]) -> Claim | None:
    if _NOT_PLACE.search(match["it"]):
        return None
    moved = re.search(r"搬|现在|改", match[0]) is not None
    return fact("home", "zh.home", 0.7, replaces=moved)(match)


def _place(key: str, rule: str) -> Maker:
    def make(match: re.Match[str]) -> Claim | None:
        return None if _NOT_PLACE.search(match["it"]) else fact(key, rule)(match)

    return make


def _native_of(match: re.Match[str]) -> Claim | None:
    """Read 我是四川人 and nothing like 我是一个…的人."""
    value = re.sub(r"^(?:是|一个|个)", "", match["it"])
    if len(value) < 2 or re.search(r"[的个本有没是一种年轻普通成家好坏能会在当做哪什负责当事合伙主持过来]", value):
        return None
    if "是" not in match[0]:
        return None
    return Claim(
        PROFILE,
        "hometown",
        value,
        match.start(),
        match.end(),
        "zh.origin",
        confidence=0.85,
        importance=0.6,
        conditional=False,
    )


RULES: tuple[Row[tuple[str, ...]], ...] = (
    Row(
        ("叫", "名"),
        re.compile(rf"{BEFORE}我(?:的?(?:名字|全名|本名))?(?:叫做?|是叫|名叫|的名字(?:叫做?|是))(?:做)?{NAME}"),
        _name,
    ),
    Row(
        ("叫我", "称呼我"),
        re.compile(rf"(?:可以|直接|就|请)?(?:叫|称呼)我{NAME}"),
        _nickname,
    ),
    Row(
        ("住", "定居", "生活在", "家在", "搬"),
        re.compile(rf"{BEFORE}我{NOW}(?:居?住在|定居在?|生活在|家住|家在|搬到了?|搬去了?|搬来了?|搬家到了?){PLACE}"),
        _home,
    ),
    Row(
        ("来自", "老家", "出生", "家乡"),
        re.compile(rf"{BEFORE}我{NOW}(?:来自|老家在|老家是|出生在|的?家乡是?在?|的?老家是?在?){PLACE}"),
        _place("hometown", "zh.origin"),
    ),
    Row(
        ("长大",),
        re.compile(rf"{BEFORE}我{NOW}在(?P<it>[^，。！？\s的了我你他她这那]{{2,8}}?)长大"),
        _place("hometown", "zh.grew_up"),
    ),
    Row(
        ("人",),
        re.compile(
            rf"{BEFORE}我{NOW}(?P<it>[\u4e00-\u9fff]{{2,4}})人{END}(?<!个人)(?<!的人)(?<!本人)(?<!好人)("
            rf"?<!家人)(?<!爱人)(?<!大人)(?<!年轻人)(?<!老人)(?<!女人)(?<!男人)(?<!客人)(?<!证人)(?<!有人)("
            rf"?<!没人)(?<!情人)"
        ),
        _native_of,
    ),
    Row(
        ("岁",),
        re.compile(rf"{BEFORE}我{NOW}(?P<it>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})(?:周)?岁"),
        fact("age", "zh.age", 0.6),
    ),
    Row(
        ("生日",),
        re.compile(r"我的?生日(?:就?是|在)(?P<it>(?:农历|阴历)?(?:\d{1,4}年)?\d{1,2}月\d{1,2}[日号]?)"),
        fact("birthday", "zh.birthday", 0.7),
    ),
    Row(
        ("会说",),
        re.compile(
            rf"{BEFORE}我{NOW}会说(?P<it>[\u4e00-\u9fff]{{1,4}}[语话文](?:[、和][\u4e00-\u9fff]{{1,4}}[语"
            rf"话文]){{0,3}}){END}"
        ),
        keyed("speaks", "zh.speaks", 0.55),
    ),
    Row(
        ("母语",),
        re.compile(rf"我的?母语是(?P<it>[\u4e00-\u9fff]{{2,5}}){END}"),
        fact("native_language", "zh.native_language", 0.55),
    ),
    Row(
        ("性格", "个性"),
        re.compile(
            r"我的?(?:个性|性格)(?:其实|本来|一直|天生|向来|是|属于)*(?:比较|有些|有点|很|偏|非常|挺|蛮"
            r"|相对)*(?P<it>内向|外向|开朗|敏感|害羞|腼腆|乐观|悲观|安静|活泼|随和|急躁|慢热)"
        ),
        fact("personality", "zh.personality", 0.5),
    ),
    Row(
        ("内", "外", "开朗", "敏", "害羞", "腼", "观", "安静", "活泼", "性", "慢热", "完美"),
        re.compile(
            rf"{BEFORE}我{NOW}(?:是|属于)(?:一?个)?(?:比较|很|非常|有些|有点|偏|挺|蛮|特别|相对|性格"
            rf"|十分)*(?P<it>(?:内向|外向|开朗|敏感|害羞|腼腆|乐观|悲观|安静|活泼|感性|理性|慢热"
            rf"|完美主义)(?:[、和且又](?:内向|外向|开朗|敏感|害羞|腼腆|乐观|悲观|安静|活泼|感性"
            rf"|理性))?)(?:型|类型)?(?:的人|的性格|者|的女孩|的男生|的女生|的男孩)?{END}"
        ),
        fact("personality", "zh.personality", 0.5),
    ),
    Row(
        ("不住", "不再住"),
        re.compile(rf"{BEFORE}我{NOW}(?:不再?|已经不)住在?{PLACE}(?:了)?"),
        fact("home", "zh.home_ended", ends=True),
    ),
)
