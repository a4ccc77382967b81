"""Chinese facts about the speaker, and what the speaker is learning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from consumers.extractor.rules import endings_zh, identity_zh, life_zh
from consumers.extractor.rules.claim import PROFILE, Claim
from consumers.extractor.rules.objects_zh import object_key, parts

_RULES = (*identity_zh.RULES, *life_zh.RULES, *endings_zh.RULES)
# One look for all cues: four of five clauses have none.
_ANY_CUE = re.compile("|".join(sorted({re.escape(piece) for row in _RULES for piece in row.cue})))
_VAGUE_LEARNING = re.compile(
    r"^(?:如何|怎么|怎样|一些|一个|一门|一项|一种|新的?|更多|很多|着|会|到|完|过|上|业|校|期|历|位|费"
    r"|得|如|了|好|不|东西|知识|技能|的|和|如|去|学|中$|生|院|管理情绪|自己|应该|方面|任务|时|时候"
    r"|工作)|新技能|新的|问题|知识$|技能$|东西|课程$|时$|方法|技巧$|[吗呢]|任务|压力|这|那|你|他|我"
    r"|考试|成绩"
)


def find(clause: str, goes_on: bool = False) -> Iterator[Claim]:
    """Yield every stable fact that the speaker states about themselves in a clause."""
    if goes_on and "我" not in clause:
        # The subject of the clause before goes on: 我叫小明，今年28岁.
        for found in find(f"我{clause}"):
            # 我养了一只狗，叫旺财: a name alone belongs to what was just brought up, and is not the speaker's.
            if found.key != "name":
                yield replace(found, start=max(found.start - 1, 0), end=found.end - 1)
        return
    if "我" in clause and _ANY_CUE.search(clause):
        for cue, pattern, make in _RULES:
            if not any(map(clause.__contains__, cue)):
                continue
            for match in pattern.finditer(clause):
                claim = make(match)
                if claim is not None:
                    yield claim
    if "学" in clause or "练" in clause:
        yield from _learning(clause)


def _learning(clause: str) -> Iterator[Claim]:
    match = _LEARNING.search(clause)
    if match is None or (match["who"] is None and not _ALONE.match(clause)):
        return
    for part in parts(match["rest"], match.start("rest")):
        if _VAGUE_LEARNING.search(part.text) or len(part.text) > 10:
            return
        yield Claim(
            PROFILE,
            f"learning.{object_key(part.text)}",
            part.text,
            match.start(),
            part.end,
            "zh.learning",
            confidence=0.7,
            importance=0.45,
            conditional=False,
        )


_ALONE = re.compile(r"^(?:最近|目前|现在|近来|这段时间|近期|其实)")
_LEARNING = re.compile(
    r"(?P<who>我)?(?:最近|现在|目前|正|一直|也|还|开始|刚刚?|近来|这段时间|近期|其实|有|都)*(?P<in>在"
    r"|正在|开始|自)(?:努力|认真|业余时间)?(?P<verb>学习|自学|学着?(?![习生校期会到完业过位])|练习"
    r"|练(?!习)|研习)(?P<rest>[^。！？]+)"
)
