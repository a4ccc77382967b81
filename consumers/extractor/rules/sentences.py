"""Sentences with offsets, and what each is: statement, question, hypothesis, one-off, joke, report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# One set of characters in front, so that most of a text is passed over without trying the alternatives.
_END = re.compile(
    r"[。！？!?…\n.;；~](?:(?<=[。！？!?…\n])[。！？!?…\n]*[\"'”’」）)]*|(?<=[.;；])[.;；]*[\"'”’)]*(?=\s|$)|(?<=[；;])"
    r"|(?<=~)~{0,2}\s)"
)
# A stop after these ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e|no|u\.s|jr|sr|prof|inc|ltd|approx)|\b[A-Za-z])\.$", re.IGNORECASE
)
_CJK = re.compile(r"[\u3400-\u9fff]")

_ONE_OFF = re.compile(
    r"\b(?:just (?:this )?once|this once|this (?:one )?time(?: only)?|for now|for the moment"
    r"|at the moment|temporarily|in this (?:session|conversation|chat|message|reply|answer)"
    r"|for this (?:session|conversation|chat|message|reply|answer|task|question|one)|right now"
    r"|only today|just (?:for )?today|just now|for the time being|one-off)\b"
    r"|这[一]?[次回]|本次|本轮|这轮|今天先|先这样|暂时|目前先|就一次|临时|先别|此刻|这会儿|现在先|下不为例",
    re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:just kidding|kidding|jk|j/k|only joking|just joking|joking|as a joke|april fools)\b|开玩笑"
    r"|开个玩笑|逗你|说笑|骗你的|闹着玩",
    re.IGNORECASE,
)
_HYPOTHESIS = re.compile(
    r"^\W*(?:(?:and|but|so|then|well|ok|okay),? )?(?:if|suppose|supposing|imagine|assume|assuming"
    r"|what if|let'?s (?:say|pretend|assume)|pretend|hypothetically|in theory"
    r"|were i|should i)\b|\bif i (?:were|was|had|could)\b|\bi(?:'d| would| could| might) (?:be|have"
    r"|rather)\b|\b(?:role-?play|in (?:a|my) (?:story|novel|dream|game))\b",
    re.IGNORECASE,
)
_HYPOTHESIS_ZH = re.compile(
    r"如果|假如|假设|要是|倘若|假装|万一|比方说我|想象一下|扮演|若是|的话$"
    r"|(?:希望|但愿|巴不得)我(?:家里?|也|还|真的|现在)*(?:有|养|住|是|在|叫)"
)
_REPORT = re.compile(
    r"\b(?:he|she|they|people|everyone|everybody|someone|somebody|friends?|mother|father|mom|mum|dad"
    r"|boss|wife|husband|partner|colleagues?|you|it|teacher|doctor|horoscope|test)"
    r" (?:also |always |often |just )?(?:says?|said|thinks?|thought|tells?|told|claims?|claimed"
    r"|believes?|assumes?|assumed|asks?|asked|suggests?|suggested)\b"
    r"|\b(?:says?|said|told me|thinks?) (?:that )?i\b",
    re.IGNORECASE,
)
_REPORT_ZH = re.compile(
    r"(?:他|她|它|他们|她们|别人|有人|大家|朋友|同事|老板|妈妈|爸爸|父母|你|医生|老师|人家"
    r"|家人)们?(?:都|也|总|总是|常|经常|一直|刚刚?|跟我|对我)?(?:说|觉得|认为|以为|问|告诉|猜|建议|希望"
    r")我?|(?:他|她|朋友|同事|老板|妈妈|爸爸|父母|你|老师|家人)们?(?:都|总是?|一直)?(?:叫|让)我"
)
_QUESTION_EN = re.compile(
    r"^\W*(?:(?:and|but|so|then|well|hi|hello|hey|ok|okay|by the way|also|now|please|actually"
    r"|hmm),? )*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|may|might|have|has"
    r"|had"
    # "When it rains I like tea" asks nothing.
    r"|what|which|who|whose|when(?='s| (?:is|are|do|does|did|was|were|can|could|will|would|should|has|have|had)\b)"
    r"|where|why|how|don'?t|doesn'?t|isn'?t|aren'?t|haven'?t|won'?t|shouldn'?t|guess)\b",
    re.IGNORECASE,
)
_QUESTION_ZH = re.compile(
    r"吗|呢$|么$|(?<!没)(?<!没有)什么(?![都也])|(?<!不)怎么|怎样|如何|哪|谁|几[个点时岁]|多少|是不是"
    r"|有没有|能不能|会不会|可不可以"
    r"|要不要|喜不喜欢|好不好|为何|还是.{1,8}[？?]?$"
)


class Sentence(NamedTuple):
    """A sentence at its offset in the segment; ``asks`` where it ends in a question mark."""

    text: str
    start: int
    asks: bool
    chinese: bool


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[Sentence]:
    """Cut ``text[start:end]`` into sentences."""
    end = len(text) if end is None else end
    begin = start
    for stop in _END.finditer(text, start, end):
        if stop[0].startswith(".") and _ABBREVIATION.search(text, max(begin, stop.start() - 6), stop.start() + 1):
            continue
        if (sentence := _sentence(text, begin, stop.start(), stop[0])) is not None:
            yield sentence
        begin = stop.end()
    if (sentence := _sentence(text, begin, end, "")) is not None:
        yield sentence


def _sentence(text: str, begin: int, end: int, stop: str) -> Sentence | None:
    raw = text[begin:end]
    trimmed = raw.strip(" \t\r\n,，、-•*·“”")
    if not trimmed:
        return None
    offset = begin + raw.index(trimmed)
    return Sentence(
        trimmed, offset, "?" in stop or "？" in stop, not trimmed.isascii() and _CJK.search(trimmed) is not None
    )


_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|i (?:guess|suppose)|not sure|might|probably|kind of think)\b|可能"
    r"|也许|大概|或许|说不定",
    re.IGNORECASE,
)


def is_hedged(text: str) -> bool:
    """True where the speaker is not certain: then it is worth a second mention, not a memory."""
    return _HEDGE.search(text) is not None


def is_joke(text: str) -> bool:
    """True where a turn marks itself as a joke: then nothing in it is meant."""
    return _JOKE.search(text) is not None


def is_one_off(text: str) -> bool:
    """True where what is said holds for this moment or this session only (W5, W6)."""
    return _ONE_OFF.search(text) is not None


def is_hypothetical(text: str, chinese: bool) -> bool:
    """True where nothing is claimed."""
    return (_HYPOTHESIS_ZH if chinese else _HYPOTHESIS).search(text) is not None


def is_report(text: str, chinese: bool) -> bool:
    """True where somebody else's opinion of the speaker is told."""
    return (_REPORT_ZH if chinese else _REPORT).search(text) is not None


def is_question(text: str, asks: bool, chinese: bool) -> bool:
    """True where a sentence (Chinese: a clause) asks."""
    if chinese:
        return asks or _QUESTION_ZH.search(text) is not None
    return _QUESTION_EN.search(text) is not None
