"""English facts of how the speaker lives: work, school, family, pets, diet, health."""

from __future__ import annotations

import re
from dataclasses import replace

from consumers.extractor.rules import lexicon
from consumers.extractor.rules.claim import HEALTH, Claim
from consumers.extractor.rules.makers import Row, cue, fact, keyed
from consumers.extractor.rules.subject_en import I_AM, NOW
from policy.text import normalise_key

PETS = (
    r"dogs?|cats?|rabbits?|hamsters?|parrots?|goldfish|fish|turtles?|tortoises?|birds?|horses?|ponies"
    r"|pony|puppy|puppies|kittens?|guinea pigs?|snakes?|lizards?|pets?"
)
_FAMILY = (
    r"(?:(?:older|younger|elder|little|big|twin|baby) )?(?:sons?|daughters?|children|child|kids?"
    r"|brothers?|sisters?|siblings?|grandchildren|grandsons?|granddaughters?|twins)"
)
COUNT = r"(?:a|an|one|two|three|four|five|six|\d)"
JOB = lexicon.OCCUPATIONS_EN.pattern
PLAYED = (
    r"(?:guitar|piano|violin|drums|flute|cello|bass|ukulele|saxophone|trumpet|harp|chess|tennis|football|soccer"
    r"|basketball|badminton|volleyball|golf|hockey|rugby|cricket)"
)
QUIT = re.compile(
    r"\bI(?:'ve| have)? (?:just |finally |recently )*(?:quit|left|resigned from) my (?:old )?job\b", re.IGNORECASE
)
_JOBS = lexicon.JOB_WORDS
_PET_WORDS = cue(
    "dog dogs cat cats rabbit rabbits hamster hamsters parrot parrots goldfish fish turtle turtles"
    " tortoise bird birds horse horses pony puppy puppies kitten kittens pig pigs snake lizard pet pets"
)
_FAMILY_WORDS = cue(
    "son sons daughter daughters children child kid kids brother brothers sister sisters sibling"
    " siblings grandchildren grandson granddaughter twins"
)


def _job(match: re.Match[str]) -> Claim | None:
    return fact("job", "en.job", 0.7, replaces=match.groupdict().get("moved") is not None)(match)


def _pet(match: re.Match[str]) -> Claim | None:
    """Keep the animal's name with it: "a cat named Bean"."""
    claim = keyed("has", "en.pet", 0.6)(match)
    if claim is None or not match["named"]:
        return claim
    return replace(claim, value=match.string[match.start("it") : match.end("named")])


def _tenure(match: re.Match[str]) -> Claim | None:
    where = normalise_key(re.sub(r"^(?:the|my|this) ", "", match["where"], flags=re.IGNORECASE))
    value = f"{match['it']} {match['at']} {match['where']}"
    claim = fact(f"tenure.{where}", "en.tenure", 0.5)(match)
    return claim and replace(claim, value=value)


RULES: tuple[Row[frozenset[str]], ...] = (
    Row(
        cue(
            "manager boss supervisor mentor wife husband partner girlfriend boyfriend son daughter roommate"
            " doctor lawyer assistant manager's boss's wife's husband's son's daughter's"
        ),
        re.compile(
            r"\b[Mm]y (?P<what>manager|boss|supervisor|mentor|wife|husband|partner|girlfriend|boyfriend|son"
            r"|daughter|roommate|doctor|lawyer|assistant)(?:'s name)? is (?:called "
            r"|named )?(?P<it>[A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=[,.;!]|$| and\b)"
        ),
        keyed("relation", "en.relation", 0.55),
    ),
    Row(_JOBS, re.compile(rf"{I_AM} (?:a|an) (?P<it>{JOB})\b(?! (?:at heart|of|to\b))", re.IGNORECASE), _job),
    Row(
        _JOBS,
        re.compile(rf"(?<![\w'])I(?P<moved> now)? work{NOW} as (?:a|an|the) (?P<it>{JOB})\b", re.IGNORECASE),
        _job,
    ),
    Row(
        cue("job occupation profession"),
        re.compile(
            rf"\bmy (?:job|occupation|profession) is (?:being |to be |as )?(?:a |an |the )?(?P<it>{JOB})\b",
            re.IGNORECASE,
        ),
        _job,
    ),
    Row(
        cue("work"),
        re.compile(
            rf"(?<![\w'])I (?:now |currently )?work{NOW} (?:at|for) (?P<it>(?!(?:home|night|the moment"
            rf"|weekends|least|a|an|my|this|that|the same|it|them|him"
            rf"|her)\b)(?:[A-Z][\w&.\-]*(?: [A-Z][\w&.\-]*)*))"
        ),
        fact("employer", "en.employer", 0.6),
    ),
    Row(
        cue("work"),
        re.compile(
            rf"(?<![\w'])I (?:now |currently )?work{NOW} in (?P<it>(?:the )?[a-z]+(?: [a-z]+)? (?:industry"
            rf"|field|sector|department)|finance|education|advertising|healthcare|marketing|sales|tech|IT"
            rf"|HR)\b"
        ),
        fact("field", "en.field", 0.55),
    ),
    Row(
        cue("study studying studied graduated student school college university"),
        re.compile(
            r"(?<![\w'])I (?:study|am studying|studied|graduated|am a student|went to (?:school|college"
            r"|university))(?: in)? (?:at|from) (?P<it>(?:the )?[A-Z][\w.\-]*(?: (?:of |[A-Z])[\w.\-]*)*)"
        ),
        fact("school", "en.school", 0.55),
    ),
    Row(
        cue("major majored majoring"),
        re.compile(
            r"(?<![\w'])(?:I(?:'m| am)? major(?:ed|ing)? in|my major is) (?P<it>[\w ]{3,40}?)(?=[,.;!]| and | at |$)",
            re.IGNORECASE,
        ),
        fact("major", "en.major", 0.55),
    ),
    Row(
        _PET_WORDS,
        re.compile(
            rf"(?<![\w'])(?:I(?:'ve| have)(?: got)?|there (?:is|are)) (?:also )?(?P<it>{COUNT} (?:[a-z]+"
            rf" ){{0,2}}?(?P<what>{PETS}))(?: (?:named|called) (?P<named>[A-Z]\w+(?: and"
            rf" [A-Z]\w+)?))?(?=[,.;!]| (?:and|named|called|who|that|at home|which|now)\b|$)",
            re.IGNORECASE,
        ),
        _pet,
    ),
    Row(
        cue("dog cat rabbit parrot hamster puppy kitten dog's cat's"),
        re.compile(
            r"\bmy (?P<what>dog|cat|rabbit|parrot|hamster|puppy|kitten)(?:'s name is| is (?:named"
            r"|called)) (?P<it>[A-Z]\w+)",
            re.IGNORECASE,
        ),
        keyed("pet_name", "en.pet_name", 0.55),
    ),
    Row(
        _FAMILY_WORDS,
        re.compile(
            rf"(?<![\w'])I(?:'ve| have)(?: got)? (?:also )?(?P<it>{COUNT} (?P<what>{_FAMILY}))\b(?! who\b)",
            re.IGNORECASE,
        ),
        keyed("has", "en.family", 0.6),
    ),
    Row(
        cue("married divorced single engaged"),
        re.compile(
            rf"{I_AM} (?P<it>married|divorced|single|engaged|a single (?:mother|father|parent))(?=[,.;!]"
            rf"| (?:and|with|to|now)\b|$)",
            re.IGNORECASE,
        ),
        fact("marital_status", "en.marital", 0.6),
    ),
    Row(
        cue("vegetarian vegan pescatarian flexitarian"),
        re.compile(rf"{I_AM} (?:a |an )?(?:strict )?(?P<it>vegetarian|vegan|pescatarian|flexitarian)\b", re.IGNORECASE),
        fact("diet", "en.diet", 0.85),
    ),
    Row(
        cue("vegetarian vegan pescatarian"),
        re.compile(
            r"(?<![\w'])I(?:'m| am) (?:not|no longer) (?:a |an )?(?P<it>vegetarian|vegan|pescatarian)\b", re.IGNORECASE
        ),
        fact("diet", "en.diet_ended", 0.7, ends=True),
    ),
    Row(
        cue("work"),
        re.compile(
            r"(?<![\w'])I (?:no longer work|don't work|stopped working) (?:at|for) "
            r"(?P<it>[A-Z][\w&.\-]*(?: [A-Z][\w&.\-]*)*)"
        ),
        fact("employer", "en.employer_ended", 0.6, ends=True),
    ),
    Row(
        cue("intolerant"),
        re.compile(rf"{I_AM} (?P<it>[a-z]+)[ -]intolerant\b", re.IGNORECASE),
        keyed("allergy", "en.intolerance", 0.95, HEALTH),
    ),
    Row(
        cue("play"),
        re.compile(
            rf"(?<![\w'])I (?:can |also |still )*play (?:the )?(?P<it>{PLAYED})\b(?! (?:with you|today))",
            re.IGNORECASE,
        ),
        keyed("plays", "en.plays", 0.5),
    ),
    Row(
        cue("eat drink eating drinking"),
        re.compile(
            r"(?<![\w'])I (?:(?:don't|do not|never|can't|cannot|no longer) (?:eat|drink)|(?:have )?stopped"
            r" (?:eating|drinking)) (?P<it>(?:any )?(?!(?:it|that|this|enough|well|much|too|so|anything|the|in|at|out"
            r"|alone|when|breakfast|dinner|lunch)\b)[a-z]+(?: (?!any ?more\b|any\b)[a-z]+)?)(?=[,.;!]|$"
            r"| (?:or|and|because|at all|but|any ?more|any longer)\b)",
            re.IGNORECASE,
        ),
        keyed("diet", "en.diet_avoids", 0.8, negative=True),
    ),
    Row(
        cue("allergic allergy"),
        re.compile(
            rf"(?:{I_AM} (?:severely |very |highly )?allergic to|(?<![\w'])I(?:'ve| have) (?:an?|a severe"
            rf"|a bad) (?=[\w ]+ allerg)) ?(?P<it>(?!(?:it|that|this)\b)[\w ]+?)(?: allergy)?(?=[,.;!]|$"
            rf"| (?:and|so|but|since)\b)",
            re.IGNORECASE,
        ),
        keyed("allergy", "en.allergy", 0.95, HEALTH),
    ),
    Row(
        cue(
            "diabetes asthma epilepsy adhd autism depression bipolar hypertension cancer arthritis migraine"
            " migraines celiac insomnia anxiety pressure"
        ),
        re.compile(
            rf"(?:(?<![\w'])I(?:'ve| have| suffer from| was diagnosed with|'ve been diagnosed with"
            rf"| have been diagnosed with)|{I_AM} diagnosed with) (?:type \d )?(?P<it>(?:type \d"
            rf" )?(?:diabetes|asthma|epilepsy|adhd|autism|depression|bipolar disorder|hypertension"
            rf"|high blood pressure|cancer|arthritis|migraines?|celiac disease|insomnia|anxiety disorder))",
            re.IGNORECASE,
        ),
        keyed("condition", "en.condition", 0.9, HEALTH),
    ),
    Row(
        cue("years year"),
        re.compile(
            r"(?:^|(?<![\w'])I(?:'ve| have)(?: been| worked| spent)?(?: here)? (?:for )?)(?P<it>\d{1,2}"
            r" years?) (?P<at>at|with) (?P<where>(?:the |my )?[\w&.\- ]{2,30}?)(?=[,.;!]|$| (?:and|now"
            r"|so)\b)",
            re.IGNORECASE,
        ),
        _tenure,
    ),
    Row(
        cue("years year"),
        re.compile(
            r"(?<![\w'])I(?:'ve| have) (?:been|worked|been working) (?P<at>at|with) (?P<where>(?:the |my "
            r"|this )?[\w&.\- ]{2,30}?) for (?:about |almost |over )?(?P<it>\d{1,2} years?)",
            re.IGNORECASE,
        ),
        _tenure,
    ),
)
