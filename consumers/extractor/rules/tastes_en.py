"""English likes and dislikes: "I love oysters", "I can't stand cilantro", "my favourite editor is Vim"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from consumers.extractor.rules import lexicon, purposes
from consumers.extractor.rules.claim import PREFERENCES, WORK, Claim
from consumers.extractor.rules.objects_en import object_key, parts
from schemas.words import MemoryType, Polarity

_ADVERB = (
    r"(?:also|really|still|just|always|generally|usually|particularly|especially|absolutely|quite"
    r"|actually|personally|mostly|mainly|do|both|truly|now|only|simply|honestly|rather"
    r"|totally|very|much|so|definitely|certainly|either|all|a lot|kind of|never|thoroughly|deeply"
    r"|enormously|sometimes|often|ever|even|myself|very much|pretty|been)"
)
_POSITIVE = (
    r"(?:like|love|enjoy|prefer|adore|fancy|appreciate|am (?:{a} )*(?P<over>no longer )?(?:into|fond of|keen on"
    r"|passionate about|interested in|crazy about|obsessed with|addicted to|(?:a |an )?(?:big |huge "
    r"|great |avid |real )?(?:fan of|lover of|enthusiast of))|have a (?:passion|weakness"
    r"|soft spot) for)"
)
_NEGATIVE = (
    r"(?:hate|dislike|detest|loathe|despise|can'?t (?:stand|bear)|cannot (?:stand|bear)"
    r"|can not (?:stand|bear)|am (?:{a} )*(?:tired|sick) of|am not (?:{a} )*(?:into|fond of|keen on"
    r"|interested in|(?:a )?(?:big |huge )?fan of)|(?:don'?t|do not|never) (?:{a} )*(?:like|love|enjoy"
    r"|fancy|care for))"
)
_TASTE = re.compile(
    rf"(?:(?<![\w'])I|^(?:and|but))(?P<been>(?:'ve| have))?(?P<adverbs>(?: {_ADVERB})*)(?: (?P<ended>no"
    rf" longer))?(?P<adverbs2>(?: {_ADVERB})*) "
    rf"(?:(?P<negative>{_NEGATIVE.format(a=_ADVERB)})|(?P<positive>{_POSITIVE.format(a=_ADVERB)})"
    rf"|(?P<past>loved|liked|enjoyed|hated|been (?:{_ADVERB} )*(?:into|fond of|passionate about"
    rf"|interested in)))"
    r"(?!')\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FAVOURITE = re.compile(
    r"\bmy (?P<rank>(?:all-time |most |absolute |personal )*)(?:favou?rite"
    r"|preferred) (?P<noun>(?:(?:kind|type|genre|style)s? of )?[\w\- ]{2,30}?)(?: (?:in the world"
    r"|of all time|right now|now|to \w+))? (?:is|are|would be|would have to be|has always been"
    r"|have always been|was always)"
    r"(?P<adverbs>(?: (?:now|still|definitely|probably|always|actually|currently))*) (?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_IS_FAVOURITE = re.compile(
    r"(?:^|[,;] ?(?:and |but )?)(?P<what>[^,;.!?]{2,40}?) (?:is|are) (?:definitely |still |now |also "
    r"|actually )?(?:my (?:all-time )?favou?rites?)\b(?: (?P<noun>[\w\-]+(?: [\w\-]+)?))?",
    re.IGNORECASE,
)
_HOBBIES = re.compile(
    r"\bmy (?:main |other |biggest |favou?rite )*(?:hobbies|hobby|interests?|passions?"
    r"|pastimes?)(?: and interests)? (?:are|is|include|includes|lies? in)(?: (?:things like|mainly"
    r"|mostly|also))? (?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FAN = re.compile(
    r"\bI(?: am|'m) (?:also |really )*(?:a|an) (?:big |huge |real |great |avid |die-hard |lifelong )*"
    r"(?P<what>[\w' ]{2,30}?) (?:fan|lover|enthusiast|addict|aficionado)\b(?! of)",
    re.IGNORECASE,
)
_BEST = re.compile(r" (?:best|(?:the )?most)(?: of all)?(?=$|[,.;!]| (?:now|these days|nowadays)\b)", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:anymore|any more|any longer)\b", re.IGNORECASE)
_CHANGED = re.compile(r"\b(?:now|these days|nowadays|lately|from now on|instead)\b", re.IGNORECASE)
_CUE = re.compile(
    r"\bfavou?rite|\bpreferred|\bhobb|\binterest|\bpassion|\bpastime|\bfan\b|\blover\b|\benthusiast\b|\baddict\b",
    re.IGNORECASE,
)
_POLITE = re.compile(r"\bI (?:would|'d) (?:like|love|prefer)\b", re.IGNORECASE)
_COPULA = re.compile(r"\bI(?:'|\u2019)m\b", re.IGNORECASE)
_OWN_SUBJECT = re.compile(r"(?!(?:and|but) (?!I\b|I'))", re.IGNORECASE)
_NEXT = re.compile(
    r"(?<![\w'])(?:(?:and|but|though|while|yet),? I(?='|\u2019| )|(?<=, )I(?='|\u2019| )"
    r"|(?:and|but) (?=(?:(?:also|really|absolutely|still) )?(?:hate|dislike|love|enjoy|prefer|detest"
    r"|can'?t stand|don'?t like|do not like)\b))",
    re.IGNORECASE,
)


def find(text: str) -> Iterator[Claim]:
    """Yield every taste that the speaker states in a sentence."""
    plain = text.replace("\u2019", "'")
    goes_on = False
    for begin, end in _statements(plain):
        statement = plain[begin:end]
        # "I love tea but hate milk": the second verb has the subject of the first, if that was a taste.
        if goes_on or _OWN_SUBJECT.match(statement):
            found = list(_taste(statement, begin))
            goes_on = bool(found)
            yield from found
    if _CUE.search(plain):
        yield from _favourites(plain)


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Cut at ", and I ...": each statement has its own verb and polarity."""
    cuts = [match.start() for match in _NEXT.finditer(text)]
    for begin, end in pairwise([0, *cuts, len(text)]):
        # "My friend and I like tennis" has two subjects, and is not the speaker's alone.
        if begin not in cuts or _SUBJECT_TOO.search(text[:begin]) is None:
            yield begin, end


_SUBJECT_TOO = re.compile(r"(?:^|[,.;:] ?)(?:(?:both|you|he|she|they) |(?i:my|our|the) (?:[\w']+ ){1,3}|[A-Z]\w+ )$")


def _taste(statement: str, offset: int) -> Iterator[Claim]:
    # One spelling for "I'm" and "I am" keeps the pattern readable.
    places = [found.start() for found in _COPULA.finditer(statement)]
    spelled = _COPULA.sub("I am", statement) if places else statement

    def back(position: int) -> int:
        """Return the offset in the sentence of an offset in ``spelled``: each "I am" is one longer than "I'm"."""
        return position - sum(place + index + 3 <= position for index, place in enumerate(places)) + offset

    match = _TASTE.search(spelled)
    if match is None or _excluded(match):
        return
    ended = (
        match["ended"] is not None
        or match["over"] is not None
        or (match["negative"] is not None and _ENDS.search(match["rest"]) is not None)
    )
    negative = match["negative"] is not None and not ended
    verb = (match["positive"] or match["negative"] or "").lower()
    replaces = ended or _CHANGED.search(match["adverbs"] + match["adverbs2"] + match["rest"]) is not None
    best = _BEST.search(match["rest"]) if verb in ("like", "love", "prefer", "enjoy") else None
    rest = match["rest"][: best.start()] if best else match["rest"]
    found = list(parts(rest, back(match.start("rest")), prefers=verb == "prefer"))
    if best and len(found) == 1 and (key := lexicon.class_key(found[0].text)) is not None:
        yield _single(key, found[0].text, back(match.start()), found[0].end, replaces)
        return
    for part in found:
        if verb == "prefer" and lexicon.slot_of_thing(part.text.partition(" for ")[0]) and " for " in part.text:
            # "Vim for Rust" is a choice with a purpose, which the rules for tools read.
            continue
        slot = lexicon.slot_of_thing(part.text)
        # A tool that is loved is a taste; one that is preferred is the choice for its slot.
        chosen = slot is not None and verb == "prefer"
        yield Claim(
            namespace=WORK if chosen else PREFERENCES,
            key=slot if chosen and slot else f"likes.{object_key(part.text)}",
            value=part.text,
            start=back(match.start()),
            end=part.end,
            rule="en.ended" if ended else "en.dislike" if negative else "en.like",
            type=MemoryType.PREFERENCE,
            polarity=Polarity.NEUTRAL if ended else Polarity.NEGATIVE if negative else Polarity.POSITIVE,
            confidence=0.85,
            importance=0.6 if negative else 0.5,
            replaces=replaces,
            ends=ended,
        )


def _excluded(match: re.Match[str]) -> bool:
    """True for a past taste that is over, and for what only sounds like one ("I appreciate it")."""
    if match["past"] is not None:
        always = re.search(r"\b(?:always|long|still)\b", match["adverbs"] + match["adverbs2"], re.IGNORECASE)
        return match["been"] is None or (always is None and "been" not in match["past"].lower())
    if match["been"] is not None and (match["positive"] or "").lower() not in ("have a passion for",):
        return True
    words = match["adverbs"].lower().split()
    return (match["positive"] or "").lower() == "appreciate" or ("never" in words and match["positive"] is None)


def _favourites(text: str) -> Iterator[Claim]:
    for match in _FAVOURITE.finditer(text):
        yield from _favourite(match["noun"], match["rest"], match.start(), match.start("rest"), match["adverbs"])
    for match in _HOBBIES.finditer(text):
        for part in parts(match["rest"], match.start("rest")):
            yield _like(part.text, match.start(), part.end, "en.hobby")
    for match in _FAN.finditer(text):
        for part in parts(match["what"], match.start("what")):
            yield _like(part.text, match.start(), match.end(), "en.fan")
    for match in _IS_FAVOURITE.finditer(text):
        what = match["what"].strip()
        if re.match(
            r"(?:it|this|that|these|those|they|he|she|which|who|what|one|the|my|your|some|here)\b", what, re.IGNORECASE
        ):
            continue
        key = lexicon.favourite_key(match["noun"]) if match["noun"] else lexicon.class_key(what)
        if key:
            yield _single(key, what, match.start("what"), match.end(), " now " in match[0])
        else:
            yield _like(what, match.start("what"), match.end(), "en.favourite")


def _favourite(noun: str, rest: str, start: int, offset: int, adverbs: str) -> Iterator[Claim]:
    found = list(parts(rest, offset))
    noun = re.sub(r"^(?:kind|type|genre|style)s? of ", "", noun.strip(), flags=re.IGNORECASE)
    noun, _, purpose = noun.partition(" for ")
    key = lexicon.favourite_key(noun) or lexicon.favourite_key(noun.split()[-1] if noun.split() else "")
    for part in found:
        if key is None or len(found) > 1:
            yield _like(part.text, start, part.end, "en.favourite")
        else:
            claim = _single(key, part.text, start, part.end, replaces="now" in adverbs.lower())
            yield replace(claim, conditions=(purposes.named(purpose),)) if purpose else claim


def _like(what: str, start: int, end: int, rule: str) -> Claim:
    return Claim(
        PREFERENCES,
        f"likes.{object_key(what)}",
        what,
        start,
        end,
        rule,
        type=MemoryType.PREFERENCE,
        polarity=Polarity.POSITIVE,
        importance=0.55,
    )


def _single(key: str, what: str, start: int, end: int, replaces: bool = False) -> Claim:
    return Claim(
        PREFERENCES if key.startswith("favourite.") else WORK,
        key,
        what,
        start,
        end,
        "en.favourite",
        type=MemoryType.PREFERENCE,
        polarity=Polarity.POSITIVE,
        confidence=0.9,
        importance=0.6,
        replaces=replaces,
    )
