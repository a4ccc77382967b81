"""What a tool is chosen for: "Vim for Rust", "for Python I use PyCharm", 写 Rust 用 Vim (C5)."""

from __future__ import annotations

import re

from consumers.extractor.rules import lexicon
from policy.text import normalise_key

_THING = "|".join(sorted(map(re.escape, lexicon.SLOT_OF), key=len, reverse=True))
_MAKING = r"(?:(?:writing|coding|editing|programming|developing|building|debugging)(?: in)? )?"
# Where the purpose ends and the statement goes on.
_ON = (
    r"(?:and|or|but|because|so|while|when|since|as|at|on|in|too|now|these|instead|though|with|always|mostly|usually"
    r"|myself|i)\b"
)
# "For years", "for now", "for it", "for coding": no purpose that tells one choice from another.
_NONE = (
    r"(?!(?:it|this|that|these|those|them|me|us|you|him|her|everything|anything|something|all|most|some|any|now|free"
    r"|long|ever|years?|months?|weeks?|days?|hours?|a|an|one|two|three|several|many|few|over|about|almost|example"
    r"|instance|sure|good|fun|reasons?|what|which|code|coding|programming|development|editing|\d\S*)\b)"
)
_PURPOSE = rf"{_NONE}(?P<it>[\w+#][\w+#.\-]*(?: (?!{_ON})[\w+#.\-]+){{0,2}})"
_BEHIND = re.compile(rf" for (?:my |our |the )?{_MAKING}{_PURPOSE}(?=[,.;!]|$| {_ON})", re.IGNORECASE)
_AHEAD = re.compile(rf"(?:^|[,;] ?|\b(?:and|but|while) )for (?:my |our |the )?{_MAKING}{_PURPOSE},? $", re.IGNORECASE)
_DEED = r"(?:写|做|开发|编写|调试|处理|搞|学)"
_END_ZH = r"\s?(?:的?(?:代码|程序|项目|脚本)|的?时候?)?"
_BEHIND_ZH = re.compile(
    rf"\s?(?:来|去)?{_DEED}\s?(?P<it>(?:{_THING})|[\u4e00-\u9fff]{{2,6}}?){_END_ZH}(?=了?(?:[，,。；;！!、]|$))",
    re.IGNORECASE,
)
_OWN = r"(?:我|平时|一般|通常|现在|主要|但是?|而|则)*"
_AHEAD_ZH = re.compile(
    rf"^(?:.*[，,、；;]\s?)?{_OWN}(?:{_DEED}\s?(?P<it>(?:{_THING})|[\u4e00-\u9fff]{{2,6}}?){_END_ZH}"
    rf"|(?P<place>工作|上班|公司|家里|家|学校)(?:[上里中]|的?时候?)?|(?P<language>{_THING}))"
    r"\s?[，,]?(?P<adverbs>(?:我|一般|通常|平时|都|就|主要|现在|会)*)(?:使?用的?是?|首选)\s?$",
    re.IGNORECASE,
)
# Writing code is what an editor is for.
_EMPTY_ZH = frozenset("代码 程序 软件 东西 项目 作业 事情".split())
_PLACES = {"work": "at.work", "home": "at.home", "school": "at.school"}
_PLACES |= {"工作": "at.work", "上班": "at.work", "公司": "at.work", "家里": "at.home", "家": "at.home"}
_PLACES |= {"学校": "at.school"}


def behind(text: str, position: int) -> tuple[str, int] | None:
    """Return the condition that stands right behind a thing, and where it ends."""
    found = _BEHIND.match(text, position) or _BEHIND_ZH.match(text, position)
    if found is None or found["it"] in _EMPTY_ZH:
        return None
    return named(found["it"]), found.end("it")


def ahead(before: str) -> str | None:
    """Return the condition that opens an English statement, given the text before it."""
    found = _AHEAD.search(before)
    return named(found["it"]) if found else None


def ahead_zh(before: str, slot: str) -> tuple[str, bool] | None:
    """Return the condition that opens a Chinese statement, and whether 现在 does, given all before a thing of ``slot``.

    A bare name is a purpose only where it is a language and the thing is not: Rust 用 Vim.
    """
    found = _AHEAD_ZH.match(before)
    if found is None or found["it"] in _EMPTY_ZH:
        return None
    language = found["language"]
    if language and (slot == "language" or lexicon.SLOT_OF.get(language.lower()) != "language"):
        return None
    return named(found["it"] or found["place"] or language), "现在" in found[0]


def named(purpose: str) -> str:
    """Return the name of the condition that a purpose is."""
    bare = purpose.strip(" .").lower()
    return _PLACES.get(bare) or f"for.{normalise_key(bare)}"
