"""English facts about the speaker, and what the speaker is learning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from consumers.extractor.rules import endings_en, identity_en, life_en
from consumers.extractor.rules.claim import PROFILE, Claim
from consumers.extractor.rules.objects_en import object_key, parts
from consumers.extractor.rules.subject_en import I_AM

_RULES = (*identity_en.RULES, *life_en.RULES, *endings_en.RULES)
_BY_CUE: dict[str, list[int]] = {}
"""Rules by the words of which they need one: few sentences hold more than two such words, and rules are many."""
for _number, _rule in enumerate(_RULES):
    for _word in _rule[0]:
        _BY_CUE.setdefault(_word, []).append(_number)
_VAGUE_LEARNING = re.compile(
    r"^(?:a |an |some |any |many |more |new |about |how to (?:be|do|deal|cope|manage my)\b|to (?:be|do"
    r"|deal|cope|accept|love|let|relax|control|manage|face|say|live)\b|from\b|lots?\b|it\b|that\b"
    r"|this\b|hard\b|online\b|at\b|in\b"
    r"|for\b|with\b|things?\b|knowledge\b|skills?\b|by\b|myself\b|on\b)|\b(?:new (?:skills?"
    r"|things?|knowledge|language|hobby|technique\w*|recipes?|dish(?:es)?|songs?|words?)|exams?|tests?"
    r"|lately|skill|knowledge)$",
    re.IGNORECASE,
)


def find(text: str, words: Set[str]) -> Iterator[Claim]:
    """Yield every stable fact that the speaker states about themselves in a sentence of these words."""
    plain = _lifted(text.replace("\u2019", "'"))
    for rule in sorted({rule for word in words & _BY_CUE.keys() for rule in _BY_CUE[word]}):
        _, pattern, make = _RULES[rule]
        for match in pattern.finditer(plain):
            claim = make(match)
            if claim is not None:
                yield claim
    yield from endings_en.find(plain, words)
    if not _LEARNS.isdisjoint(words):
        yield from _learning(plain)


def _lifted(text: str) -> str:
    """Return a sentence typed without capitals with those that names and places need, offsets unchanged."""
    if not text.islower():
        return text
    return _FRAME.sub(lambda found: found[1] + found[2].title(), re.sub(r"\bi\b", "I", text))


_FRAME = re.compile(
    r"\b(live in |living in |based in |moved to |relocated to |from |born in |work at |work for "
    r"|name is |name's |call me |named |called |speak )"
    r"((?!(?:a|an|the|my|this|that|it|home|here|there|now|not|you|all|me|time|work|school|one|him"
    r"|her)\b)[a-z]+(?: (?!(?:and|now|with|for|but|since|in|at|because|so|as|where|again|last"
    r"|instead)\b)[a-z]+)?)"
)
_LEARNS = frozenset("learning studying teaching taking practicing practising".split())


def _learning(text: str) -> Iterator[Claim]:
    for match in _LEARNING.finditer(text):
        rest = re.sub(r"^how to ", "", match["rest"])
        shift = len(match["rest"]) - len(rest)
        for part in parts(rest, match.start("rest") + shift):
            value = part.text
            if _VAGUE_LEARNING.search(value):
                return
            yield Claim(
                PROFILE,
                f"learning.{object_key(value)}",
                value,
                match.start(),
                part.end,
                "en.learning",
                confidence=0.7,
                importance=0.45,
                conditional=False,
            )
            if match["how"]:
                return


_LEARNING = re.compile(
    rf"{I_AM}(?: (?:lately|recently))? (?:learning|studying|teaching myself|taking (?:lessons|classes"
    rf"|a course) in|practi[sc]ing)(?P<how> (?:how )?to)? (?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
