"""English facts about the speaker: name, home, work, age, family, pets, diet, allergies, what is being learnt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import replace

from consumers.extractor.rules import lexicon
from consumers.extractor.rules.claim import HEALTH, PROFILE, Claim
from consumers.extractor.rules.objects_en import object_key, parts
from policy.text import normalise_key
from schemas.words import Polarity

_NOW = r"(?: (?:now|currently|actually|also|still|just|both|originally|really|been|always|recently|only))*"
_I_AM = rf"(?<![\w'])I(?: am|'m|'ve been| have been){_NOW}"
_PLACE = r"(?P<it>(?:the )?[A-Z][\w.'\-]*(?:,? (?:(?:of|de|la|the|in) )*[A-Z][\w.'\-]*)*)"
_NAME = r"(?P<it>[A-Z][\w'\-]*(?: [A-Z][\w'\-]*){0,2})(?=[\s,.!?]|$)"
_NATIONALITIES = "|".join(sorted(name.capitalize() for name in lexicon.NATION_WORDS))
_NOT_NAMES = frozenset(
    "Muslim Christian Buddhist Catholic Jewish Hindu Not Sorry Fine Good Happy Sad Glad Tired Back Here Ok OK Great Feeling Going Also So Very Still Just Really Looking Trying Working In At On From A An The"
    " AI".split()
) | frozenset(_NATIONALITIES.split("|"))
_PETS = r"dogs?|cats?|rabbits?|hamsters?|parrots?|goldfish|fish|turtles?|tortoises?|birds?|horses?|ponies|pony|puppy|puppies|kittens?|guinea pigs?|snakes?|lizards?|pets?"
_FAMILY = r"(?:(?:older|younger|elder|little|big|twin|baby) )?(?:sons?|daughters?|children|child|kids?|brothers?|sisters?|siblings?|grandchildren|grandsons?|granddaughters?|twins)"
_COUNT = r"(?:a|an|one|two|three|four|five|six|\d)"
_VAGUE_LEARNING = re.compile(
    r"^(?:a |an |some |any |many |more |new |about |how to (?:be|do|deal|cope|manage my)\b|to (?:be|do|deal|cope|accept|love|let|relax|control|manage|face|say|live)\b|from\b|lots?\b|it\b|that\b|this\b|hard\b|online\b|at\b|in\b"
    r"|for\b|with\b|things?\b|knowledge\b|skills?\b|by\b|the\b|myself\b|on\b)|\b(?:new (?:skills?|things?|knowledge|language|hobby|technique\w*|recipes?|dish(?:es)?|songs?|words?)|exams?|tests?|lately|skill|knowledge)$",
    re.IGNORECASE,
)

Maker = Callable[[re.Match[str]], Claim | None]


def find(text: str, words: Set[str]) -> Iterator[Claim]:
    """Yield every stable fact that the speaker states about themselves in a sentence of these words."""
    plain = _lifted(text.replace("\u2019", "'"))
    for cue, pattern, make in _RULES:
        if cue.isdisjoint(words):
            continue
        for match in pattern.finditer(plain):
            claim = make(match)
            if claim is not None:
                yield claim
    if not _LEARNS.isdisjoint(words):
        yield from _learning(plain)


def _lifted(text: str) -> str:
    """Return a sentence typed without capitals with those that names and places need, offsets unchanged."""
    if not text.islower():
        return text
    return _FRAME.sub(lambda found: found[1] + found[2].title(), re.sub(r"\bi\b", "I", text))


_FRAME = re.compile(
    r"\b(live in |living in |based in |moved to |relocated to |from |born in |work at |work for |name is |name's |call me |named |called |speak )"
    r"((?!(?:a|an|the|my|this|that|it|home|here|there|now|not|you|all|me|time|work|school|one|him|her)\b)[a-z]+(?: (?!(?:and|now|with|for|but|since|in|at|because|so|as|where|again|last|instead)\b)[a-z]+)?)"
)
_LEARNS = frozenset("learning studying teaching taking practicing practising".split())


def _fact(key: str, rule: str, importance: float = 0.6, namespace: str = PROFILE, **more: bool) -> Maker:
    def make(match: re.Match[str]) -> Claim | None:
        value = match["it"].strip(" .,!?")
        if not value:
            return None
        moved = more.get("replaces", False) or re.search(r"\bnow\b|\bactually\b", match[0], re.IGNORECASE) is not None
        return Claim(
            namespace,
            key,
            value,
            match.start(),
            match.end(),
            rule,
            confidence=0.9,
            importance=importance,
            replaces=moved,
            ends=more.get("ends", False),
            conditional=False,
        )

    return make


def _keyed(prefix: str, rule: str, importance: float = 0.5, namespace: str = PROFILE, negative: bool = False) -> Maker:
    def make(match: re.Match[str]) -> Claim | None:
        value = match["it"].strip(" .,!?")
        key = normalise_key(re.sub(r"^(?:a|an|one) ", "", match.groupdict().get("what") or value, flags=re.IGNORECASE))
        polarity = Polarity.NEGATIVE if negative else Polarity.NEUTRAL
        return Claim(
            namespace,
            f"{prefix}.{key}",
            value,
            match.start(),
            match.end(),
            rule,
            polarity=polarity,
            confidence=0.9,
            importance=importance,
            conditional=False,
        )

    return make


def _name(match: re.Match[str]) -> Claim | None:
    value = match["it"]
    if value.split()[0] in _NOT_NAMES or value.isupper():
        return None
    return _fact("name", "en.name", 0.9, replaces=" not " in match[0])(match)


def _job(match: re.Match[str]) -> Claim | None:
    return _fact("job", "en.job", 0.7, replaces=match.groupdict().get("moved") is not None)(match)


def _pet(match: re.Match[str]) -> Claim | None:
    """Keep the animal's name with it: "a cat named Bean"."""
    claim = _keyed("has", "en.pet", 0.6)(match)
    if claim is None or not match["named"]:
        return claim
    return replace(claim, value=match.string[match.start("it") : match.end("named")])


def _tenure(match: re.Match[str]) -> Claim | None:
    where = normalise_key(re.sub(r"^(?:the|my|this) ", "", match["where"], flags=re.IGNORECASE))
    value = f"{match['it']} {match['at']} {match['where']}"
    claim = _fact(f"tenure.{where}", "en.tenure", 0.5)(match)
    return claim and replace(claim, value=value)


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
    rf"{_I_AM}(?: (?:lately|recently))? (?:learning|studying|teaching myself|taking (?:lessons|classes|a course) in|practi[sc]ing)(?P<how> (?:how )?to)? (?P<rest>.*)|(?!)(?P<none>)", re.IGNORECASE | re.DOTALL
)
_JOB = lexicon.OCCUPATIONS_EN.pattern

def _cue(words: str) -> frozenset[str]:
    return frozenset(words.split())


_JOBS = lexicon.JOB_WORDS
_PET_WORDS = _cue("dog dogs cat cats rabbit rabbits hamster hamsters parrot parrots goldfish fish turtle turtles tortoise bird birds horse horses pony puppy puppies kitten kittens pig pigs snake lizard pet pets")
_FAMILY_WORDS = _cue("son sons daughter daughters children child kid kids brother brothers sister sisters sibling siblings grandchildren grandson granddaughter twins")
# A rule is tried only where one of its words stands in the sentence.
_RULES: tuple[tuple[frozenset[str], re.Pattern[str], Maker], ...] = (
    (_cue("name names"), re.compile(rf"\b[Mm]y (?:full |first |real )?name(?:'s| is) (?:not \w+(?: but|, (?:it's|but)) )?{_NAME}"), _name),
    (_cue("hi hello hey greetings"), re.compile(rf"^(?:[\w ]{{0,20}}\b)?(?:[Hh]i|[Hh]ello|[Hh]ey|[Gg]reetings)(?: there)?,? (?:[\w ]{{0,24}}, )?I(?:'m| am) {_NAME}"), _name),
    (_cue("i'm am"), re.compile(rf"^I(?:'m| am) {_NAME}(?=[,.!]|$| (?:and|from)\b)"), _name),
    (_cue("call calls"), re.compile(rf"\b(?:(?:you can|please|just|everyone) )?[Cc]alls? me {_NAME}(?=[,.!]|$| from| instead)"), _fact("nickname", "en.nickname", 0.7)),
    (_cue("live reside living based"), re.compile(rf"(?<![\w'])I (?:live|reside|am living|am based){_NOW} in {_PLACE}"), _fact("home", "en.home", 0.7)),
    (_cue("living based"), re.compile(rf"(?<![\w'])I(?:'m| am){_NOW} (?:living|based) in {_PLACE}"), _fact("home", "en.home", 0.7)),
    (_cue("moved relocated"), re.compile(rf"(?<![\w'])I(?:'ve| have)?{_NOW} (?:moved|relocated)(?: from {_PLACE.replace('it', 'old')})? to {_PLACE}"), _fact("home", "en.moved", 0.7, replaces=True)),
    (_cue("live"), re.compile(rf"(?<![\w'])I (?:no longer live|don't live) in {_PLACE}"), _fact("home", "en.home_ended", 0.6, ends=True)),
    (_cue("come came i'm am"), re.compile(rf"(?<![\w'])I (?:come|came) from {_PLACE}|{_I_AM} from {_PLACE.replace('it', 'alt')}"), lambda m: _origin(m)),
    (_cue("born"), re.compile(rf"(?<![\w'])I was born in {_PLACE}"), _fact("birthplace", "en.birthplace", 0.6)),
    (_cue("born"), re.compile(rf"(?<![\w'])I was born (?:on |in )(?P<it>(?:\w+ \d{{1,2}}(?:st|nd|rd|th)?,? )?(?:19|20)\d\d|\w+ \d{{1,2}}(?:st|nd|rd|th)?)", re.IGNORECASE), _fact("birthday", "en.birthday", 0.7)),
    (_cue("birthday birthday's"), re.compile(r"\bmy birthday(?:'s| is)(?: on)? (?P<it>(?:the )?(?:\w+ )?\d{1,2}(?:st|nd|rd|th)?(?: (?:of )?[A-Z][a-z]+)?(?:,? \d{4})?)", re.IGNORECASE), _fact("birthday", "en.birthday", 0.7)),
    (_cue("i'm am"), re.compile(rf"{_I_AM} (?P<it>\d{{1,3}})(?: years? old| years of age|(?=[,.!]|$| and (?:a|I|work|live)\b))", re.IGNORECASE), _fact("age", "en.age", 0.6)),
    (_cue("manager boss supervisor mentor wife husband partner girlfriend boyfriend son daughter roommate doctor lawyer assistant manager's boss's wife's husband's son's daughter's"), re.compile(r"\b[Mm]y (?P<what>manager|boss|supervisor|mentor|wife|husband|partner|girlfriend|boyfriend|son|daughter|roommate|doctor|lawyer|assistant)(?:'s name)? is (?:called |named )?(?P<it>[A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=[,.;!]|$| and\b)"), _keyed("relation", "en.relation", 0.55)),
    (_JOBS, re.compile(rf"{_I_AM} (?:a|an) (?P<it>{_JOB})\b(?! (?:at heart|of|to\b))", re.IGNORECASE), _job),
    (_JOBS, re.compile(rf"(?<![\w'])I(?P<moved> now)? work{_NOW} as (?:a|an|the) (?P<it>{_JOB})\b", re.IGNORECASE), _job),
    (_cue("job occupation profession"), re.compile(rf"\bmy (?:job|occupation|profession) is (?:being |to be |as )?(?:a |an |the )?(?P<it>{_JOB})\b", re.IGNORECASE), _job),
    (_cue("work"), re.compile(rf"(?<![\w'])I (?:now |currently )?work{_NOW} (?:at|for) (?P<it>(?!(?:home|night|the moment|weekends|least|a|an|my|this|that|the same|it|them|him|her)\b)(?:[A-Z][\w&.\-]*(?: [A-Z][\w&.\-]*)*))"), _fact("employer", "en.employer", 0.6)),
    (_cue("work"), re.compile(rf"(?<![\w'])I (?:now |currently )?work{_NOW} in (?P<it>(?:the )?[a-z]+(?: [a-z]+)? (?:industry|field|sector|department)|finance|education|advertising|healthcare|marketing|sales|tech|IT|HR)\b"), _fact("field", "en.field", 0.55)),
    (_cue("study studying studied graduated student school college university"), re.compile(rf"(?<![\w'])I (?:study|am studying|studied|graduated|am a student|went to (?:school|college|university))(?: in)? (?:at|from) (?P<it>(?:the )?[A-Z][\w.\-]*(?: (?:of |[A-Z])[\w.\-]*)*)"), _fact("school", "en.school", 0.55)),
    (_cue("major majored majoring"), re.compile(rf"(?<![\w'])(?:I(?:'m| am)? major(?:ed|ing)? in|my major is) (?P<it>[\w ]{{3,40}}?)(?=[,.;!]| and | at |$)", re.IGNORECASE), _fact("major", "en.major", 0.55)),
    (_PET_WORDS, re.compile(rf"(?<![\w'])(?:I(?:'ve| have)|there (?:is|are)) (?:also )?(?P<it>{_COUNT} (?:[a-z]+ ){{0,2}}?(?P<what>{_PETS}))(?: (?:named|called) (?P<named>[A-Z]\w+(?: and [A-Z]\w+)?))?(?=[,.;!]| (?:and|named|called|who|that|at home|which|now)\b|$)", re.IGNORECASE), _pet),
    (_cue("dog cat rabbit parrot hamster puppy kitten dog's cat's"), re.compile(rf"\bmy (?P<what>dog|cat|rabbit|parrot|hamster|puppy|kitten)(?:'s name is| is (?:named|called)) (?P<it>[A-Z]\w+)", re.IGNORECASE), _keyed("pet_name", "en.pet_name", 0.55)),
    (_FAMILY_WORDS, re.compile(rf"(?<![\w'])I(?:'ve| have) (?:also )?(?P<it>{_COUNT} (?P<what>{_FAMILY}))\b(?! who\b)", re.IGNORECASE), _keyed("has", "en.family", 0.6)),
    (_cue("married divorced single engaged"), re.compile(rf"{_I_AM} (?P<it>married|divorced|single|engaged|a single (?:mother|father|parent))(?=[,.;!]| (?:and|with|to|now)\b|$)", re.IGNORECASE), _fact("marital_status", "en.marital", 0.6)),
    (_cue("vegetarian vegan pescatarian flexitarian"), re.compile(rf"{_I_AM} (?:a |an )?(?:strict )?(?P<it>vegetarian|vegan|pescatarian|flexitarian)\b", re.IGNORECASE), _fact("diet", "en.diet", 0.85)),
    (_cue("eat drink"), re.compile(r"(?<![\w'])I (?:don't|do not|never|can't|cannot) (?:eat|drink) (?P<it>(?:any )?(?!(?:it|that|this|enough|well|much|too|so|anything|the|in|at|out|alone|when|breakfast|dinner|lunch)\b)[a-z]+(?: [a-z]+)?)(?=[,.;!]|$| (?:or|and|because|at all|but)\b)", re.IGNORECASE), _keyed("diet", "en.diet_avoids", 0.8, negative=True)),
    (_cue("allergic allergy"), re.compile(rf"(?:{_I_AM} (?:severely |very |highly )?allergic to|(?<![\w'])I(?:'ve| have) (?:an?|a severe|a bad) (?=[\w ]+ allerg)) ?(?P<it>(?!(?:it|that|this)\b)[\w ]+?)(?: allergy)?(?=[,.;!]|$| (?:and|so|but|since)\b)", re.IGNORECASE), _keyed("allergy", "en.allergy", 0.95, HEALTH)),
    (_cue("diabetes asthma epilepsy adhd autism depression bipolar hypertension cancer arthritis migraine migraines celiac insomnia anxiety pressure"), re.compile(rf"(?:(?<![\w'])I(?:'ve| have| suffer from| was diagnosed with|'ve been diagnosed with| have been diagnosed with)|{_I_AM} diagnosed with) (?:type \d )?(?P<it>(?:type \d )?(?:diabetes|asthma|epilepsy|adhd|autism|depression|bipolar disorder|hypertension|high blood pressure|cancer|arthritis|migraines?|celiac disease|insomnia|anxiety disorder))", re.IGNORECASE), _keyed("condition", "en.condition", 0.9, HEALTH)),
    (_cue("speak"), re.compile(r"(?<![\w'])I (?:can )?speak (?:fluent |native |some |a little )?(?P<it>(?:[A-Z][a-z]+(?:, | and |, and )?){1,4})(?=[,.;!]|$| (?:fluently|at home|natively|and)\b)"), _keyed("speaks", "en.speaks", 0.55)),
    (_cue("native mother"), re.compile(rf"\bmy native (?:language|tongue) is (?P<it>[A-Z]\w+)|\bmy mother tongue is (?P<alt>[A-Z]\w+)", re.IGNORECASE), lambda m: _native(m)),
    (lexicon.NATION_WORDS, re.compile(rf"{_I_AM} (?P<it>{_NATIONALITIES})(?=[,.;!]|$| and\b)"), _fact("nationality", "en.nationality", 0.55)),
    (_cue("introvert introverted extrovert extroverted outgoing shy optimistic optimist pessimistic pessimist sensitive curious adventurous perfectionist owl bird morning romantic sociable"), re.compile(rf"(?:{_I_AM}|(?<![\w'])I have(?: always)? been) (?:quite |very |a bit |rather |pretty |basically )*(?:a |an )(?:\w+ )?(?P<it>(?:very |quite |rather |more )?(?:introvert(?:ed)?|extrovert(?:ed)?|outgoing|shy|optimistic|optimist|pessimistic|pessimist|sensitive|curious|adventurous|perfectionist|night owl|early bird|morning person|romantic|sociable)(?: and (?:sensitive|introverted|shy|quiet|outgoing|curious|optimistic|romantic|emotional))?)(?: (?:person|type|individual|girl|boy|guy|woman|man))?(?=[,.;!]|$| (?:and|who|so|with)\b)", re.IGNORECASE), _fact("personality", "en.personality", 0.5)),
    (_cue("personality"), re.compile(r"\bmy personality is (?:a bit |quite |rather |very |more |relatively )?(?P<it>[\w\- ]{4,40}?)(?=[,.;!]|$| (?:so|but)\b)", re.IGNORECASE), _fact("personality", "en.personality", 0.5)),
    (_cue("years year"), re.compile(r"(?:^|(?<![\w'])I(?:'ve| have)(?: been| worked| spent)?(?: here)? (?:for )?)(?P<it>\d{1,2} years?) (?P<at>at|with) (?P<where>(?:the |my )?[\w&.\- ]{2,30}?)(?=[,.;!]|$| (?:and|now|so)\b)", re.IGNORECASE), _tenure),
    (_cue("years year"), re.compile(r"(?<![\w'])I(?:'ve| have) (?:been|worked|been working) (?P<at>at|with) (?P<where>(?:the |my |this )?[\w&.\- ]{2,30}?) for (?:about |almost |over )?(?P<it>\d{1,2} years?)", re.IGNORECASE), _tenure),
    (_cue("quit left resigned"), re.compile(rf"\bI (?:quit|left|resigned from) (?P<it>my (?:old )?job)\b", re.IGNORECASE), _fact("job", "en.job_ended", 0.6, ends=True)),
)  # fmt: skip


def _origin(match: re.Match[str]) -> Claim | None:
    value = match["it"] or match["alt"]
    return Claim(PROFILE, "hometown", value.strip(" .,"), match.start(), match.end(), "en.origin", confidence=0.9, importance=0.6, conditional=False)


def _native(match: re.Match[str]) -> Claim | None:
    value = match["it"] or match["alt"]
    return Claim(PROFILE, "native_language", value, match.start(), match.end(), "en.native_language", confidence=0.9, conditional=False)
