"""What is no longer so, in English: "I used to love jazz", "I gave up coffee", "I no longer have a cat" (W12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set

from consumers.extractor.rules import identity_en, life_en
from consumers.extractor.rules.claim import PREFERENCES, PROFILE, Claim
from consumers.extractor.rules.makers import Maker, Row, cue, fact, keyed
from consumers.extractor.rules.objects_en import object_key, parts
from consumers.extractor.rules.subject_en import NOW
from schemas.words import MemoryType, Polarity

_I = r"(?<![\w'])I"
_ANYMORE = r"(?=[^,.;!?]* (?:anymore|any more|any longer)\b)"
_JOB = life_en.JOB
_EMPLOYER = r"(?P<it>[A-Z][\w&.\-]*(?: [A-Z][\w&.\-]*)*)"
# "The band I used to love broke up": what goes before must not make it part of another statement.
_OPENS = re.compile(
    r"(?:^|[,;:]|\b(?:and|but|so|because|although|though|since|while|yes|no|yeah|well|actually|honestly|then))\s*$",
    re.IGNORECASE,
)
_LASTS = re.compile(r"\b(?:still|again)\b", re.IGNORECASE)
_CUES = cue("used longer anymore more stopped quit gave given left resigned")


def _over(plain: str, doing: str) -> str:
    """Return the pattern of a doing that has ended: its verb plain, and in -ing."""
    return (
        rf"(?:{_I}{NOW} (?:no longer|used to) (?:{plain})"
        rf"|{_I}{NOW} (?:don't|do not|can't|cannot) (?:{plain}){_ANYMORE}"
        rf"|{_I}(?:'ve| have)?{NOW} (?:stopped|quit|gave up|given up) (?:{doing})"
        rf"|{_I}(?:'m| am){NOW} (?:no longer (?:{doing})|not (?:{doing}){_ANYMORE}))"
    )


def _is_over(what: str) -> str:
    """Return the pattern of something that the speaker is no longer."""
    return (
        rf"(?:{_I}{NOW} used to be|{_I}(?:'m| am){NOW} no longer|{_I}(?:'m| am){NOW} not(?=[^,.;!?]*"
        rf" (?:anymore|any more|any longer)\b)) {what}"
    )


def _opening(make: Maker) -> Maker:
    def guarded(match: re.Match[str]) -> Claim | None:
        before, after = match.string[: match.start()], match.string[match.start() :]
        return make(match) if _OPENS.search(before) and not _LASTS.search(after) else None

    return guarded


def _fact(key: str) -> Maker:
    return _opening(fact(key, f"en.{key}_ended", ends=True))


def whole(key: str, rule: str) -> Maker:
    """Return a maker that ends whatever a slot holds: "I quit my job" names no employer."""

    def make(match: re.Match[str]) -> Claim:
        return Claim(
            PROFILE,
            key,
            "",
            match.start(),
            match.end(),
            rule,
            confidence=0.9,
            replaces=True,
            ends=True,
            conditional=False,
        )

    return make


RULES: tuple[Row[frozenset[str]], ...] = (
    Row(_CUES, re.compile(rf"{_I}{NOW} used to live in {identity_en.PLACE}"), _fact("home")),
    Row(_CUES, re.compile(rf"{_over('work', 'working')} (?:at|for|with) {_EMPLOYER}"), _fact("employer")),
    Row(_CUES, re.compile(rf"{_I}(?:'ve| have)?{NOW} (?:left|quit|resigned from) {_EMPLOYER}"), _fact("employer")),
    Row(_CUES, re.compile(rf"{_is_over(rf'(?:a|an) (?P<it>{_JOB})')}\b", re.IGNORECASE), _fact("job")),
    Row(
        _CUES, re.compile(rf"{_over('work', 'working')} as (?:a|an|the) (?P<it>{_JOB})\b", re.IGNORECASE), _fact("job")
    ),
    Row(
        _CUES,
        re.compile(rf"{_I}{NOW} used to be (?:a |an )?(?P<it>vegetarian|vegan|pescatarian)\b", re.IGNORECASE),
        _fact("diet"),
    ),
    Row(
        _CUES,
        re.compile(rf"{_is_over('(?P<it>married|engaged|single)')}\b", re.IGNORECASE),
        _fact("marital_status"),
    ),
    Row(
        _CUES,
        re.compile(rf"{_over('play', 'playing')} (?:the )?(?P<it>{life_en.PLAYED})\b", re.IGNORECASE),
        _opening(keyed("plays", "en.plays_ended", ends=True)),
    ),
    Row(
        _CUES,
        re.compile(
            rf"{_over('have|own|keep', 'having|owning|keeping')}"
            rf" (?P<it>(?:{life_en.COUNT} |any )?(?:[a-z]+ )?(?P<what>{life_en.PETS}))"
            r"(?=[,.;!]|$| (?:and|but|any|anymore)\b)",
            re.IGNORECASE,
        ),
        _opening(keyed("has", "en.pet_ended", ends=True)),
    ),
    Row(cue("quit left resigned"), life_en.QUIT, whole("job", "en.job_ended")),
    Row(cue("quit left resigned"), life_en.QUIT, whole("employer", "en.employer_ended")),
)

_LIKED = re.compile(
    rf"{_I}{NOW} used to (?:really |absolutely |also |always )*(?:(?P<liked>like|love|enjoy|adore|prefer"
    r"|be (?:really |very )?(?:into|fond of|keen on|crazy about|obsessed with|a (?:big |huge )?fan of))"
    r"|(?P<hated>hate|dislike|detest|loathe|despise)) (?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CONSUMED = re.compile(rf"{_over('drink|eat', 'drinking|eating')} (?:any )?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_GIVEN_UP = re.compile(
    rf"{_I}(?:'ve| have)?{NOW} (?:quit|gave up|given up) (?!(?:my|the|a|an|on|it|that|this|trying|all|and|because)\b)"
    r"(?!(?:drinking|eating|playing|learning|studying|working) )(?P<rest>[a-z]+(?: [a-z]+)?)(?=[,.;!]|$"
    r"| (?:and|but|because|last|this|for|in|two|three|\d+|years?)\b)",
    re.IGNORECASE,
)
_LEARNED = re.compile(
    rf"{_over('learn|study', 'learning|studying')} (?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)


def find(text: str, words: Set[str]) -> Iterator[Claim]:
    """Yield what a sentence of these words ends that is keyed by the thing itself."""
    if _CUES.isdisjoint(words):
        return
    for pattern, end in _KEYED:
        match = pattern.search(text)
        if match is None or not _OPENS.search(text[: match.start()]) or _LASTS.search(text[match.start() :]):
            continue
        for part in parts(match["rest"], match.start("rest")):
            yield end(match, object_key(part.text), part.text, part.end)


def _taste(match: re.Match[str], key: str, value: str, end: int) -> Claim:
    # "I used to hate broccoli" takes back the dislike, and nothing else.
    words = match.groupdict()
    polarity = (
        Polarity.NEGATIVE if words.get("hated") else Polarity.POSITIVE if words.get("liked") else Polarity.NEUTRAL
    )
    return _ending(PREFERENCES, f"likes.{key}", value, (match.start(), end), MemoryType.PREFERENCE, polarity)


def _learning(match: re.Match[str], key: str, value: str, end: int) -> Claim:
    return _ending(PROFILE, f"learning.{key}", value, (match.start(), end))


def _ending(
    namespace: str,
    key: str,
    value: str,
    span: tuple[int, int],
    kind: MemoryType = MemoryType.FACT,
    polarity: Polarity = Polarity.NEUTRAL,
) -> Claim:
    return Claim(
        namespace,
        key,
        value,
        *span,
        "en.ended",
        type=kind,
        polarity=polarity,
        replaces=True,
        ends=True,
        conditional=False,
    )


_End = Callable[[re.Match[str], str, str, int], Claim]
_KEYED: tuple[tuple[re.Pattern[str], _End], ...] = (
    (_LIKED, _taste),
    (_CONSUMED, _taste),
    (_GIVEN_UP, _taste),
    (_LEARNED, _learning),
)
