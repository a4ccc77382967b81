"""English facts of who the speaker is: name, home, origin, age, birthday, languages, personality."""

from __future__ import annotations

import re

from consumers.extractor.rules import lexicon
from consumers.extractor.rules.claim import PROFILE, Claim
from consumers.extractor.rules.makers import Row, cue, fact, keyed
from consumers.extractor.rules.subject_en import I_AM, NAME, NOW

PLACE = r"(?P<it>(?:the )?[A-Z][\w.'\-]*(?:,? (?:(?:of|de|la|the|in) )*[A-Z][\w.'\-]*)*)"
_NATIONALITIES = "|".join(sorted(name.capitalize() for name in lexicon.NATION_WORDS))
_NOT_NAMES = frozenset(
    "Muslim Christian Buddhist Catholic Jewish Hindu Not Sorry Fine Good Happy Sad Glad Tired Back Here"
    " Ok OK Great Feeling Going Also So Very Still Just Really Looking Trying Working In At On From A"
    " An The"
    " AI".split()
) | frozenset(_NATIONALITIES.split("|"))


def _name(match: re.Match[str]) -> Claim | None:
    value = match["it"]
    if value.split()[0] in _NOT_NAMES or value.isupper():
        return None
    return fact("name", "en.name", 0.9, replaces=" not " in match[0])(match)


def _origin(match: re.Match[str]) -> Claim | None:
    value = match["it"] or match["alt"]
    return Claim(
        PROFILE,
        "hometown",
        value.strip(" .,"),
        match.start(),
        match.end(),
        "en.origin",
        confidence=0.9,
        importance=0.6,
        conditional=False,
    )


def _native(match: re.Match[str]) -> Claim | None:
    value = match["it"] or match["alt"]
    return Claim(
        PROFILE,
        "native_language",
        value,
        match.start(),
        match.end(),
        "en.native_language",
        confidence=0.9,
        conditional=False,
    )


RULES: tuple[Row[frozenset[str]], ...] = (
    Row(
        cue("name names"),
        re.compile(rf"\b[Mm]y (?:full |first |real )?name(?:'s| is) (?:not \w+(?: but|, (?:it's|but)) )?{NAME}"),
        _name,
    ),
    Row(
        cue("hi hello hey greetings"),
        re.compile(
            rf"^(?:[\w ]{{0,20}}\b)?(?:[Hh]i|[Hh]ello|[Hh]ey|[Gg]reetings)(?: there)?,? (?:[\w ]{{0,24}},"
            rf" )?I(?:'m| am) {NAME}"
        ),
        _name,
    ),
    Row(cue("i'm am"), re.compile(rf"^I(?:'m| am) {NAME}(?=[,.!]|$| (?:and|from)\b)"), _name),
    Row(
        cue("call calls"),
        re.compile(rf"\b(?:(?:you can|please|just|everyone) )?[Cc]alls? me {NAME}(?=[,.!]|$| from| instead)"),
        fact("nickname", "en.nickname", 0.7),
    ),
    Row(
        cue("live reside living based"),
        re.compile(rf"(?<![\w'])I (?:live|reside|am living|am based){NOW} in {PLACE}"),
        fact("home", "en.home", 0.7),
    ),
    Row(
        cue("living based"),
        re.compile(rf"(?<![\w'])I(?:'m| am){NOW} (?:living|based) in {PLACE}"),
        fact("home", "en.home", 0.7),
    ),
    Row(
        cue("moved relocated"),
        re.compile(
            rf"(?<![\w'])I(?:'ve| have)?{NOW} (?:moved|relocated)(?: from {PLACE.replace('it', 'old')})? to {PLACE}"
        ),
        fact("home", "en.moved", 0.7, replaces=True),
    ),
    Row(
        cue("live"),
        re.compile(rf"(?<![\w'])I (?:no longer live|don't live) in {PLACE}"),
        fact("home", "en.home_ended", 0.6, ends=True),
    ),
    Row(
        cue("come came i'm am"),
        re.compile(rf"(?<![\w'])I (?:come|came) from {PLACE}|{I_AM} from {PLACE.replace('it', 'alt')}"),
        _origin,
    ),
    Row(cue("grew"), re.compile(rf"(?<![\w'])I grew up in {PLACE}"), fact("hometown", "en.grew_up", 0.6)),
    Row(cue("born"), re.compile(rf"(?<![\w'])I was born in {PLACE}"), fact("birthplace", "en.birthplace", 0.6)),
    Row(
        cue("born"),
        re.compile(
            r"(?<![\w'])I was born (?:on |in )(?P<it>(?:\w+ \d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d\d"
            r"|\w+ \d{1,2}(?:st|nd|rd|th)?)",
            re.IGNORECASE,
        ),
        fact("birthday", "en.birthday", 0.7),
    ),
    Row(
        cue("birthday birthday's"),
        re.compile(
            r"\bmy birthday(?:'s| is)(?: on)? (?P<it>(?:the )?(?:\w+ )?\d{1,2}(?:st|nd|rd"
            r"|th)?(?: (?:of )?[A-Z][a-z]+)?(?:,? \d{4})?)",
            re.IGNORECASE,
        ),
        fact("birthday", "en.birthday", 0.7),
    ),
    Row(
        cue("i'm am"),
        re.compile(
            rf"{I_AM} (?P<it>\d{{1,3}})(?: years? old| years of age|(?=[,.!]|$| and (?:a|I|work|live)\b))",
            re.IGNORECASE,
        ),
        fact("age", "en.age", 0.6),
    ),
    Row(
        cue("speak"),
        re.compile(
            r"(?<![\w'])I (?:can )?speak (?:fluent |native |some |a little )?(?P<it>(?:[A-Z][a-z]+(?:, "
            r"| and |, and )?){1,4})(?=[,.;!]|$| (?:fluently|at home|natively|and)\b)"
        ),
        keyed("speaks", "en.speaks", 0.55),
    ),
    Row(
        cue("native mother"),
        re.compile(
            r"\bmy native (?:language|tongue) is (?P<it>[A-Z]\w+)|\bmy mother tongue is (?P<alt>[A-Z]\w+)",
            re.IGNORECASE,
        ),
        _native,
    ),
    Row(
        lexicon.NATION_WORDS,
        re.compile(rf"{I_AM} (?P<it>{_NATIONALITIES})(?=[,.;!]|$| and\b)"),
        fact("nationality", "en.nationality", 0.55),
    ),
    Row(
        cue(
            "introvert introverted extrovert extroverted outgoing shy optimistic optimist pessimistic"
            " pessimist sensitive curious adventurous perfectionist owl bird morning romantic sociable"
        ),
        re.compile(
            rf"(?:{I_AM}|(?<![\w'])I have(?: always)? been) (?:quite |very |a bit |rather |pretty "
            rf"|basically )*(?:a |an )(?:\w+ )?(?P<it>(?:very |quite |rather |more )?(?:introvert(?:ed)?"
            rf"|extrovert(?:ed)?|outgoing|shy|optimistic|optimist|pessimistic|pessimist|sensitive|curious"
            rf"|adventurous|perfectionist|night owl|early bird|morning person|romantic"
            rf"|sociable)(?: and (?:sensitive|introverted|shy|quiet|outgoing|curious|optimistic|romantic"
            rf"|emotional))?)(?: (?:person|type|individual|girl|boy|guy|woman|man))?(?=[,.;!]|$| (?:and|who"
            rf"|so|with)\b)",
            re.IGNORECASE,
        ),
        fact("personality", "en.personality", 0.5),
    ),
    Row(
        cue("personality"),
        re.compile(
            r"\bmy personality is (?:a bit |quite |rather |very |more "
            r"|relatively )?(?P<it>[\w\- ]{4,40}?)(?=[,.;!]|$| (?:so|but)\b)",
            re.IGNORECASE,
        ),
        fact("personality", "en.personality", 0.5),
    ),
)
