"""From one sentence to claims: guards first, then every family of rules in the sentence's language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from consumers.extractor.rules import (
    cues,
    endings_zh,
    facts_en,
    facts_zh,
    goals_en,
    goals_zh,
    orders,
    tastes_en,
    tastes_zh,
    tools,
)
from consumers.extractor.rules import sentences as kinds
from consumers.extractor.rules.bounds import bound
from consumers.extractor.rules.claim import LAST, PREFERENCES, Claim
from consumers.extractor.rules.sentences import Sentence
from policy.conditions import Stripped, strip_conditions
from policy.text import condition_set, normalise_key
from schemas.words import MemoryType, Polarity

_CLAUSE = re.compile(r"[，,]")
_LONG_TIME = re.compile(
    r"\b(?:this|next) (?:year|month|quarter|summer|winter|spring|autumn|fall|semester|term|week)"
    r"|\bby (?:the end of|next|\d{4}|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)"
    r"|\bin (?:the next )?(?:\d+|two|three|six|a few) (?:weeks|months|years)|\b(?:someday|one day)\b"
    r"|今年|明年|[这本下]个?(?:季度|月|学期|周)|年底|[一二三四五六七八九十\d]+月|暑假|寒假|未来|半年"
    r"|几年",
    re.IGNORECASE,
)
# A run without a stop longer than this is no sentence of a person; the limit also bounds what a pattern can cost.
_MAX_SENTENCE = 1_500
# "Coffee on weekdays.": a condition and a thing, without any verb.
_VERBLESS = re.compile(r"[\w' -]{2,40}|[\u4e00-\u9fff]{1,10}")
_VERBLESS_NO = re.compile(
    r"\b(?:i|you|we|he|she|it|they|is|are|was|were|do|does|did|have|has|had|go|went|see|meet|will|can"
    r"|should|open|closed|closes|free|busy|work|the|this|that|what|how|maybe|no|not|yes|ok|okay|thanks"
    r"|only|usually|often|hi|hello)\b|[我你他她它们有在是去要吗呢吧了想会好见点才就找回结束完后前从把给出还已都也不没来到"
    r"能该让叫帮啊啦睡起]|可以|快乐|愉快|上班|一下",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim with what bounds it, and the exact span of its quote; ``scope`` is the text whose times concern it."""

    claim: Claim
    quote: str
    offset: int
    scope: str = ""
    conditions: tuple[str, ...] = ()
    unresolved: bool = False
    explicit: bool = False


def read(sentence: Sentence) -> Iterator[Reading]:
    """Yield what a sentence of the speaker's own words claims."""
    if len(sentence.text) > _MAX_SENTENCE:
        return
    words: set[str] = set()
    flags = 0
    if not sentence.chinese:
        words = cues.words_of(sentence.text)
        flags = cues.families(words)
    if not (cues.in_chinese(sentence.text) if sentence.chinese else flags):
        return
    if (sentence.chinese or flags & cues.ORDER) and (not sentence.asks or orders.asks_for(sentence.text)):
        order = orders.order_in(sentence.text, sentence.chinese)
        if order is not None:
            yield from _ordered(sentence, order)
            return
    if sentence.chinese:
        yield from _chinese(sentence)
    else:
        yield from _english(sentence, words, flags)


def _ordered(sentence: Sentence, order: orders.Order) -> Iterator[Reading]:
    """Read what an order names; "remember" makes it explicit, "forget" ends it."""
    inner = Sentence(order.rest.rstrip(" .。!！"), sentence.start + order.offset, False, sentence.chinese)
    found = list(_inner(inner))
    if order.forget:
        if order.points_back:
            yield Reading(orders.end_of_last(order), sentence.text, sentence.start, explicit=True)
        for reading in found:
            claim = replace(reading.claim, ends=True, replaces=True, polarity=Polarity.NEUTRAL, rule="order.forget")
            yield replace(reading, claim=claim, quote=sentence.text, offset=sentence.start, explicit=True)
        return
    if not found and (noted := orders.note(order)) is not None and not _unfit(inner):
        found = [Reading(noted, noted.value, sentence.start + noted.start)]
    third = orders.is_about_others(inner.text)
    for reading in found:
        claim = replace(
            reading.claim, confidence=0.95, importance=max(reading.claim.importance, 0.7), third_party=third
        )
        yield replace(reading, claim=claim, explicit=True)


def _inner(sentence: Sentence) -> Iterator[Reading]:
    if sentence.chinese:
        return _chinese(sentence)
    words = cues.words_of(sentence.text)
    return _english(sentence, words, cues.families(words))


def _unfit(sentence: Sentence) -> bool:
    return kinds.is_one_off(sentence.text) or kinds.is_hypothetical(sentence.text, sentence.chinese)


def _english(sentence: Sentence, words: set[str], flags: int) -> Iterator[Reading]:
    if not flags:
        return
    text = _statement(sentence)
    if not text:
        return
    claim = orders.standing(text, chinese=False) if flags & cues.ORDER else None
    if claim is not None:
        found, bare = [claim], Stripped(text)
    else:
        bare = strip_conditions(text) if flags & (cues.CONDITION | cues.BOUND) else Stripped(text)
        found = list(_english_claims(text, bare, words, flags))
    # The guards come last: most sentences with a cue claim nothing, and guards read the whole of one.
    if found and not _unfit(sentence) and not kinds.is_report(text, chinese=False):
        for claim, own in _distinct(bound(found, bare)):
            yield _reading(claim, text, sentence.start, own)


def _english_claims(text: str, bare: Stripped, words: set[str], flags: int) -> Iterator[Claim]:
    others = list(_others(text, bare, words, flags))
    # Where a choice names its purpose, the mere liking of the same thing says less.
    chosen = {(claim.namespace, claim.key, claim.value) for claim in others if claim.conditions}
    tastes = tastes_en.find(bare.text) if flags & cues.TASTE else ()
    found = [claim for claim in tastes if (claim.namespace, claim.key, claim.value) not in chosen]
    yield from found
    yield from others
    if not found and not others and bare.conditions:
        yield from _verbless(bare)


def _others(text: str, bare: Stripped, words: set[str], flags: int) -> Iterator[Claim]:
    if flags & cues.TOOL:
        yield from tools.find(bare.text, bool(bare.conditions))
    if flags & cues.FACT or "years" in words:
        yield from facts_en.find(text, words)
    if flags & cues.GOAL:
        yield from goals_en.find(text, lambda: _LONG_TIME.search(text) is not None)


def _statement(sentence: Sentence) -> str:
    """Return the part of an English sentence that states: before ", do you?", nothing of a question."""
    text = sentence.text
    if kinds.is_question(text, sentence.asks, chinese=False):
        return ""
    if not sentence.asks:
        return text
    cut = max(text.rfind(","), text.rfind(" and "), text.rfind(" but "))
    return text[:cut].rstrip(" ,") if cut > 0 else ""


def _chinese(sentence: Sentence) -> Iterator[Reading]:
    claim = orders.standing(sentence.text, chinese=True)
    if claim is not None and not sentence.asks and not kinds.is_one_off(sentence.text):
        yield _reading(claim, sentence.text, sentence.start, Stripped(sentence.text))
        return
    goes_on = subject = others = False
    for text, start, last in _clauses(sentence.text):
        others = "我" not in text and (others or _SWITCHES.search(text) is not None)
        if not cues.in_chinese(text):
            goes_on = goes_on and not _SWITCHES.search(text)
            subject = text.startswith("我") and not _SWITCHES.search(text)
            continue
        found = list(_clause(text, goes_on, subject, others, sentence.text))
        # Guards come last: most clauses with a cue claim nothing.
        asks = sentence.asks and last
        if found and (kinds.is_question(text, asks, chinese=True) or _skip(text)):
            goes_on = subject = False
            continue
        brought_up = _BRINGS_UP.search(text) is not None
        subject = (subject or "我" in text) and not _SWITCHES.search(text)
        goes_on = (bool(found) and not brought_up) or (goes_on and "我" not in text and not _SWITCHES.search(text))
        for claim, bare in found:
            yield _reading(claim, text, sentence.start + start, bare)


# A clause that speaks of somebody else: what follows without 我 is not about the speaker.
_SWITCHES = re.compile(r"[他她它你]|朋友|妈|爸|家人|同事|老板|别人|大家")
# 我养了一只猫，喜欢吃鱼: the likes that follow are those of whom the clause has brought up.
_BRINGS_UP = re.compile(r"(?:有|养了?|认识了?)[一两几三]?[个只条位头匹](?!.*(?:爱好|习惯|兴趣|愿望|目标|梦想))")


def _skip(text: str) -> bool:
    return kinds.is_one_off(text) or kinds.is_hypothetical(text, chinese=True) or kinds.is_report(text, chinese=True)


def _clause(text: str, goes_on: bool, subject: bool, others: bool, sentence: str) -> Iterator[tuple[Claim, Stripped]]:
    bare = strip_conditions(text)
    # 他写 Python 用 Vim，写 Rust 用 Emacs: without 我 the second choice is his too.
    chosen = () if others else tools.find(bare.text, bool(bare.conditions))
    found = [*tastes_zh.find(bare.text, goes_on), *chosen]
    if not found and bare.text != text:
        found = list(tastes_zh.find(text, goes_on))
        bare = Stripped(text) if found else bare
    found += [
        *facts_zh.find(text, goes_on or subject),
        *endings_zh.find(text, sentence),
        *goals_zh.find(text, lambda: _LONG_TIME.search(sentence) is not None),
    ]
    if not found and bare.conditions and not _PASSES.intersection(bare.conditions):
        found = list(_verbless(bare))
    yield from _distinct((claim, bare) for claim in found)


def _clauses(text: str) -> list[tuple[str, int, bool]]:
    """Cut at commas that separate statements; a list after a verb stays with it, and so does "except ..., ..."."""
    cuts = [0]
    for comma in _CLAUSE.finditer(text):
        left, right = text[cuts[-1] : comma.start()], text[comma.end() :]
        upto = _CLAUSE.split(right, maxsplit=1)[0]
        if not _belongs(left, upto):
            cuts.append(comma.end())
    bounds = [*cuts, len(text) + 1]
    return [(text[a : b - 1], a, b == bounds[-1]) for a, b in pairwise(bounds) if text[a : b - 1].strip()]


_LIST_VERB = re.compile(r"喜欢|爱|讨厌|爱好|兴趣|受不了|学习?|养")
_NO_ITEM = re.compile(r"[我你他她它这那吗呢吧啊很真太好谢不是有想就也还都因但所如可会能要让每]|什么|怎么|推荐|觉得")


def _belongs(left: str, right: str) -> bool:
    if re.match(r"除了?", left) and len(left) < 18:
        return True
    if re.search(r"不是.{1,12}$", left) and re.match(r"(?:而)?是", right):
        return True
    if re.match(r"(?:尤其|特别)(?:是|喜欢)", right):
        return True
    if re.match(r"(?:它|名字|名)?(?:叫|名叫)", right) and "养" in left:
        return True
    return _LIST_VERB.search(left) is not None and 0 < len(right) <= 5 and _NO_ITEM.search(right) is None


# 晚上火锅 is tonight's plan; 周末爬山 comes back every week.
_PASSES = frozenset(("when.morning", "when.afternoon", "when.evening", "when.night"))


def _verbless(bare: Stripped) -> Iterator[Claim]:
    text = bare.text.strip(" .。!！")
    if _VERBLESS.fullmatch(text) and not _VERBLESS_NO.search(text) and len(text.split()) <= 3:
        yield Claim(
            PREFERENCES,
            f"likes.{normalise_key(text)}",
            text,
            0,
            len(bare.text),
            "verbless",
            type=MemoryType.PREFERENCE,
            polarity=Polarity.POSITIVE,
            confidence=0.65,
        )


def _distinct(found: Iterable[tuple[Claim, Stripped]]) -> Iterator[tuple[Claim, Stripped]]:
    """Drop a second claim on the same slot, and a taste for what another rule understood better."""
    seen: set[tuple[str, str, tuple[str, ...], str]] = set()
    for claim, bare in found:
        conditions = bare.conditions if claim.conditional else ()
        # What ends for one value leaves the slot to another: "I no longer work at Acme, I work at Globex".
        ended = claim.value if claim.ends and "." not in claim.key else ""
        slot = (claim.namespace, claim.key, (*conditions, *claim.conditions), ended)
        if slot not in seen and claim.key.strip("."):
            seen.add(slot)
            yield claim, bare


def _reading(claim: Claim, text: str, offset: int, bare: Stripped) -> Reading:
    """Quote the claim's own span, or the whole clause where conditions were taken out of it."""
    begin, end = (claim.start, claim.end) if bare.text == text or not claim.conditional else (0, len(text))
    quote = text[begin:end].strip()
    bounds = bare.conditions if claim.conditional and claim.key != LAST else ()
    conditions = condition_set((*bounds, *claim.conditions)) if claim.conditions else bounds
    offset += begin + len(text[begin:end]) - len(text[begin:end].lstrip())
    return Reading(claim, quote, offset, _scope(text, claim), conditions, bare.unresolved and claim.conditional)


_STATEMENT = re.compile(r"[,;，；]|\b(?:and|but|so) (?=I\b)")


def _scope(text: str, claim: Claim) -> str:
    """Return the statement around a claim: "Today I went out, and I love tea" loves tea for longer than today."""
    cuts = [0, *(match.end() for match in _STATEMENT.finditer(text)), len(text)]
    index = max(i for i, cut in enumerate(cuts[:-1]) if cut <= max(claim.start, 0) or i == 0)
    before = text[cuts[index - 1] : cuts[index]] if index else ""
    # "Until Friday, I ..." names a time and nothing else.
    begin = cuts[index - 1] if before and len(before.split()) <= 5 and len(before) <= 30 else cuts[index]
    after = next((cut for cut in cuts if cut >= claim.end), len(text))
    return text[begin:after]
