"""What is no longer so, in Chinese: 我不再喝咖啡了, 我以前喜欢爵士乐, 我不在腾讯工作了 (W12)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from consumers.extractor.rules import identity_zh, life_zh
from consumers.extractor.rules.claim import PREFERENCES, PROFILE, Claim
from consumers.extractor.rules.endings_en import whole
from consumers.extractor.rules.makers import Row, fact, keyed
from consumers.extractor.rules.objects_zh import object_key, parts
from consumers.extractor.rules.subject_zh import BEFORE, END, NOW
from schemas.words import MemoryType, Polarity

_ONCE = r"(?:以前|曾经|过去|从前|之前|原来)"
_FORMER = ("以前", "曾经", "过去", "从前", "之前", "原来")
# 我不住了 ends something, 我不住 may only refuse something.
_NO_MORE = rf"{NOW}(?:再也不|不再|(?:已经|早就|现在)?不(?=[^，。！？]*了{END}))"
_AT = r"(?P<it>[^，。！？\s的我你他她]{2,16}?)"

RULES: tuple[Row[tuple[str, ...]], ...] = (
    Row(
        _FORMER,
        re.compile(rf"{BEFORE}我{_ONCE}(?:一直)?(?:居?住在|生活在|家在|家住){identity_zh.PLACE}"),
        fact("home", "zh.home_ended", ends=True),
    ),
    Row(
        _FORMER,
        re.compile(rf"{BEFORE}我{_ONCE}(?:一直)?在{_AT}(?:工作|上班|任职|就职|实习)"),
        fact("employer", "zh.employer_ended", ends=True),
    ),
    Row(
        ("不再", "不在"),
        re.compile(rf"{BEFORE}我{_NO_MORE}在{_AT}(?:工作|上班|任职|就职|实习)"),
        fact("employer", "zh.employer_ended", ends=True),
    ),
    Row(
        ("辞职", "离职"),
        re.compile(rf"{BEFORE}我{NOW}从{_AT}(?:辞职|离职)"),
        fact("employer", "zh.employer_ended", ends=True),
    ),
    Row(
        _FORMER,
        re.compile(
            rf"{BEFORE}我{_ONCE}(?:是|当过?|做过?)(?:一?[名位个])?(?P<it>{life_zh.JOB})(?!们|的|家|工作室){END}"
        ),
        fact("job", "zh.job_ended", ends=True),
    ),
    Row(
        ("不再", "不是", "不当"),
        re.compile(rf"{BEFORE}我{_NO_MORE}(?:是|当|做)(?:一?[名位个])?(?P<it>{life_zh.JOB}){END}"),
        fact("job", "zh.job_ended", ends=True),
    ),
    Row(
        ("养",),
        re.compile(rf"{BEFORE}我{_NO_MORE}养(?P<it>(?P<what>{life_zh.PET})){END}"),
        keyed("has", "zh.pet_ended", ends=True),
    ),
    Row(("辞职", "离职"), re.compile(rf"{BEFORE}我{NOW}(?:辞职|离职)了"), whole("employer", "zh.employer_ended")),
    Row(("辞职", "离职"), re.compile(rf"{BEFORE}我{NOW}(?:辞职|离职)了"), whole("job", "zh.job_ended")),
)

_LIKED = re.compile(
    rf"{BEFORE}我{_ONCE}(?!就)(?:[很最也都挺蛮超]|特别|非常|比较|真的)*(?:(?P<liked>喜欢|喜爱|热爱|爱|迷恋|沉迷于?)"
    r"|(?P<hated>讨厌|不喜欢|不爱))(?!的)(?P<rest>.+)",
    re.DOTALL,
)
_LASTS = re.compile(r"还|仍|依然|一直|始终|现在也|又")
_CONSUMED = re.compile(
    rf"{BEFORE}我(?:{_NO_MORE}[吃喝抽]|{NOW}戒(?:掉)?了?)(?!素|饭|药|早|午|晚|了|完|饱|过|好|到|上|醉|太|多|这|那|什么"
    r"|得|惯|下|的|备)(?P<rest>[^，。！？、；我你他她]{1,8})"
)
_LEARNED = re.compile(
    rf"{BEFORE}我{_NO_MORE}(?:学习?|练习?)(?!校|生|期|会|到|完|业|过)(?P<rest>[^，。！？；我你他她]{{1,10}})"
)


def find(clause: str, sentence: str) -> Iterator[Claim]:
    """Yield what a clause ends that is keyed by the thing itself; what lasts may say the rest of its sentence."""
    if "我" not in clause:
        return
    if (match := _LIKED.search(clause)) is not None and not _LASTS.search(sentence):
        polarity = Polarity.POSITIVE if match["liked"] else Polarity.NEGATIVE
        yield from _endings(match, PREFERENCES, "likes", MemoryType.PREFERENCE, polarity)
    if (match := _CONSUMED.search(clause)) is not None:
        yield from _endings(match, PREFERENCES, "likes", MemoryType.PREFERENCE, Polarity.NEUTRAL)
    if (match := _LEARNED.search(clause)) is not None:
        yield from _endings(match, PROFILE, "learning", MemoryType.FACT, Polarity.NEUTRAL)


def _endings(
    match: re.Match[str], namespace: str, prefix: str, kind: MemoryType, polarity: Polarity
) -> Iterator[Claim]:
    for part in parts(match["rest"], match.start("rest")):
        yield Claim(
            namespace,
            f"{prefix}.{object_key(part.text)}",
            part.text,
            match.start(),
            part.end,
            "zh.ended",
            type=kind,
            polarity=polarity,
            replaces=True,
            ends=True,
            conditional=False,
        )
