"""What an English verb governs: "chess, baking bread and long walks" are three things."""

from __future__ import annotations

import re
from collections.abc import Iterator

from consumers.extractor.rules.claim import Part
from policy.text import normalise_key

_MAX_WORDS = 9
_BARE_VERBS = frozenset(
    "doing being having making using getting going taking trying do make use get go take try activities"
    " things stuff".split()
)
_MAX_PARTS = 12
_PRONOUN = r"(?:i|it|it's|they|he|she|we|you|my|that|this|these|those|there|which|who|whose|where|what|how)"
# Where the things end and another statement begins.
_STOP = re.compile(
    r"[;:!?()\u2014\n]| [-\u2013] |\.(?:\s|$)"
    rf"|,? (?:because|since|but|so|although|though|even (?:though|if)|if|while|whereas|unless|until"
    rf"|which|who|whose|where|then|therefore|however)\b"
    rf"|,? (?:and|or) (?:{_PRONOUN}|am|is|are|was|have|has|had|find|found|think|feel|felt|want|wanted"
    rf"|usually|often|always|sometimes|never|hope|would|will|can|could|do|don't|also|then|if|"
    r"when|even|so|maybe|currently|recently|lately|now|just|especially when|spend|plan|get|make it|know"
    r"|believe|went|tried|started|considering|wondering)\b"
    rf"|, (?:{_PRONOUN}|as|especially when|and|or)? ?(?:i|it|they|he|she|we|you|do|did|does|are|is|can"
    rf"|could|would|have|please|what|how|any|thanks|thank|right|too|though|actually|so|just|not|to)\b"
    r"|,? (?:as (?:it|they|i|this|that|these|well as (?:it|i))|to (?:help|relax|relieve|keep|make"
    r"|improve|release|calm|unwind|stay|reduce|express|get|feel|be|clear|de-?stress|challenge|escape"
    r"|pass)"
    r"|in order to|so that|for (?:relaxation|fun|myself|it)|when|whenever|after|before|during|every"
    r"|each|once|with you|from you|at the moment|these days|recently|lately"
    r"|in my (?:free|spare|leisure) time|in general|by the way|at least|at all|very much|a lot|so much"
    r"|the most|most of all|the best|as well\b(?! as)|too\b(?! )|too\.|anymore|any more|any longer"
    r"|now\b|nowadays)\b",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r",? (?:and also|as well as|and|or|along with|plus) |, (?:and |or )?|,? (?:especially|particularly"
    r"|such as|including|for example|e\.g\.|mainly|and even|even) |,? like (?=[A-Z\"])"
)
_LIST_WORD = re.compile(r",? (?:especially|particularly|such as|including|for example|e\.g\.|mainly) ")
_LEAD = re.compile(
    r"^(?:to |like |also |even |just |mainly |mostly |sometimes |occasionally |simply |both "
    r"|especially |particularly |things like |doing |all kinds of |all sorts of |various |many "
    r"|different |some |other |a lot of "
    r"|lots of |different kinds of |various types of |many kinds of |activities like |activities such as |some of )+",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"(?:,? (?:too|as well|etc\.?|and so on|and more|now|very much|a lot|so much|the most|myself|though"
    r"|at home|sometimes|occasionally|often|regularly|everywhere|alone|in particular|the best"
    r"|and all that|and stuff|or so))+$",
    re.IGNORECASE,
)
# A thing that only the conversation explains.
_VAGUE = re.compile(
    r"^(?:my|our) (?:\w+ )?(?:boss|wife|husband|mother|father|mom|mum|dad|brother|sister|son|daughter"
    r"|friends?|partner|girlfriend|boyfriend|kids?|children|family|parents|teacher|colleagues?"
    r"|neighbou?rs?|manager|team)\b|"
    r"^(?:it|them|this|that|these|those|him|her|you|your|yours|his|their|its|me|us|one|ones|both"
    r"|everything|anything|something|nothing|what|whatever|how|who|whom|when|where|why|here|there"
    r"|either|neither|each|none"
    r"|several|others?|more|most|less|such|same|so|not|to|be|being able|having|someone|somebody|people"
    r"|everyone|myself|yes|no|things?|way|any|all|ways?)\b(?! (?:arts|music|fiction))"
    r"|\b(?:you|your|yours|this|these|those|here|today|yesterday|tonight|tomorrow|last (?:night|week"
    r"|month|time)|so far|recommend\w*|mention\w*|suggest\w*|above|it|its|he|him|she|her|his|them|their"
    r"|chatting|conversation"
    r"|each other|one another|same)\b"
    r"|^(?:talk|chat|ask|tell|say|know|hear|share|thank|discuss|introduce|see what|find out|try|sharing"
    r"|talking|asking|telling|hearing|knowing|find|finding|meet|think|believe|help|start|begin"
    r"|apologi[sz]e|point|buying|getting|joining|attending|selling|renting|changing"
    r"|moving)\b(?! (?:music|with music))|^(?:ideas?|suggestions?|advice|plans?|answers?"
    r"|questions?|problems?|moments?)$",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"^the ", re.IGNORECASE)
_GENERIC_DEFINITE = re.compile(
    r"^the (?:\w+ ){0,3}of (?!the (?:story|movie|film|book|main|city|place|trip|character|novel|author"
    r"|restaurant|hotel|game|park)\b)\w|^the (?:sea|ocean|beach|mountains?|countryside|outdoors|piano"
    r"|guitar|violin|drums|flute|cello|rain|sun|snow|forest"
    r"|colou?r \w|cold|heat|theatre|theater|opera|cinema|gym|city|stars|beatles|news|arts)",
    re.IGNORECASE,
)
_ADJECTIVE = re.compile(
    r"^(?:\w+(?:al|ic|ish|ese|ive|ous|ful|less|able|ible|ian|ern)|hot|cold|modern|ancient|new|old|short"
    r"|long|black|white|sweet|spicy|light|dark|pop|folk|rich|soft|warm|quiet|simple|healthy|northern"
    r"|southern|fresh|sunny|rainy|windy|snowy|cloudy|healthy|funny|scary|cosy|cozy|creamy|crispy|dry"
    r"|wet|japanese|french|italian)$",
    re.IGNORECASE,
)
_CONSUME = re.compile(
    r"^(?:eat(?:ing)?|drink(?:ing)?|listen(?:ing)? to|watch(?:ing)?|read(?:ing)?|play(?:ing)?|have|having"
    r"|cooking with|use|using)\s+(?=\S)(?:(?:the|a|an|some|my) )?",
    re.IGNORECASE,
)
_GERUND = re.compile(
    r"^(?:go(?:ing)? (?!to|for|on|out|back|home|with|into|there)|do(?:ing)? (?=\w+ing\b)|the )", re.IGNORECASE
)


def parts(rest: str, offset: int, *, prefers: bool = False) -> Iterator[Part]:
    """Yield the things that ``rest``, the text right after a verb, names; ``offset`` is where it stands."""
    stop = _STOP.search(rest)
    # A stop that cuts right away leaves nothing: "I like, but ..." names no thing.
    body = rest[: stop.start()] if stop else rest
    if prefers:
        body = re.split(r" (?:over|rather than|instead of|more than|than) ", body)[0]
        if not body.lstrip().lower().startswith("to "):
            body = re.split(r" to (?!\w+ing\b)", body)[0]
    if _MAKES.match(body.lstrip()) and (examples := _EXAMPLES.search(body)):
        # "baking sweets like brownies and scones" likes the baking, not each example.
        body = body[: examples.start()]
    for count, (begin, end) in enumerate(_split(body)):
        part = _clean(body, begin, end)
        if part is None:
            return
        if count >= _MAX_PARTS:
            return
        if part.text:
            yield Part(part.text, part.start + offset, part.end + offset)


def _split(body: str) -> Iterator[tuple[int, int]]:
    begin = 0
    cuts: list[tuple[int, int]] = []
    for cut in _SEPARATOR.finditer(body):
        if cut.start() < begin or _holds_together(body[begin : cut.start()], cut[0], body[cut.end() :]):
            continue
        # "bands such as X": the head alone says nothing where it is a single word.
        if not (_LISTS.search(cut[0]) and len(body[begin : cut.start()].split()) < 2):
            cuts.append((begin, cut.start()))
        begin = cut.end()
    cuts.append((begin, len(body)))
    if _shares_attribute([body[a:b] for a, b in cuts]):
        cuts = [(cuts[0][0], cuts[-1][1])]
    yield from cuts


def _shares_attribute(items: list[str]) -> bool:
    """True for "Irish dance, music and food" and "camping near rivers, lakes and forests": one thing each."""
    first, others = items[0].strip(), [item.strip() for item in items[1:]]
    if not others or not all(_NOUN.fullmatch(item) for item in others):
        return False
    return _NATIONAL.match(first) is not None or (len(first.split()) > 1 and _PLACED.search(first) is not None)


_LISTS = re.compile(r"such as|including|for example|e\.g\.| like ")
_NOUN = re.compile(r"(?!\w+ing\b)[a-z]+")
_NATIONAL = re.compile(r"[A-Z][a-z]+(?:ish|ese|ian|can|nch|man|eek|ish|aelic) [a-z]+$")
_PLACED = re.compile(r"\w+ing (?:near|in|at|on|with|from|about|around|between) ")
# "horror and fantasy novels": what shares a head is one thing.
_HEAD = re.compile(
    r"(?:movie|film|music|book|novel|food|cuisine|game|sport|literature|song|work|art|show|dishe?"
    r"|activitie|culture|weather|painting|stor[iy]e?|paint|style|restaurant|drink|flavor|flavour|animal"
    r"|shoe|clothe|class|genre)s?[.,]?$"
)


def _holds_together(left: str, separator: str, right: str) -> bool:
    """True where "and" joins one thing: "black and white films", "War and Peace", "rock and roll"."""
    if separator.strip(" ,") not in ("and", "or") or "," in separator:
        return left.count('"') % 2 == 1
    if _MAKES.match(left.lstrip()) and not _VERB.match(right):
        return True
    last, first = left.split()[-1:], right.split()[:1]
    if not last or not first or left.count('"') % 2 == 1:
        return True
    if len(left.split()) == 1 and not left.endswith(("ing", "s")) and len(right.split()) == 2 and _HEAD.search(right):
        return True
    named = last[0][0].isupper() and first[0][0].isupper() and len(left.split()) <= 3
    alone = len(left.split()) == 1 and len(right.split(",")[0].split()) > 1
    return named or (alone and _ADJECTIVE.match(last[0]) is not None) or (last[0].lower(), first[0].lower()) in _PAIRS


# Making is not distributed: "to write songs and plays" likes to write both, and not to read the second.
_MAKES = re.compile(
    r"(?:to )?(?:create|creating|write|writing|make|making|build|building|draw|drawing|paint|painting"
    r"|collect|collecting|compose|composing|design|designing|bake|baking|sew|sewing) \w",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r"(?<!things)(?<!stuff),? (?:like|such as|including|for example|e\.g\.) ", re.IGNORECASE)
_VERB = re.compile(
    r"(?:\w+ing|to|go|play|watch|read|listen|travel|cook|run|swim|eat|drink|do|write|draw|paint|sing"
    r"|dance|hike|walk|take|make|bake|ride|climb|learn|study|visit|spend|hang|build|create|collect"
    r"|explore|try)\b",
    re.IGNORECASE,
)
_PAIRS = frozenset(
    (
        ("rock", "roll"),
        ("science", "technology"),
        ("hot", "sour"),
        ("sweet", "sour"),
        ("arts", "crafts"),
        ("fish", "chips"),
        ("peace", "quiet"),
        ("r", "b"),
        ("mac", "cheese"),
        ("trial", "error"),
        ("friends", "family"),
        ("family", "friends"),
        ("sights", "sounds"),
    )
)


def _clean(body: str, begin: int, end: int) -> Part | None:
    """Return the thing without what does not belong to it; None where the list has ended."""
    text = body[begin:end]
    lead = _LEAD.match(text.lstrip())
    begin += len(text) - len(text.lstrip()) + (lead.end() if lead else 0)
    text = body[begin:end].rstrip(" .,!?'")
    trail = _TRAIL.search(text)
    if trail:
        text = text[: trail.start()]
    words = text.split()
    if not words or text.lower() in ("etc", "so on", "others", "more"):
        return Part("", begin, begin)
    if len(words) == 1 and text.lower() in _BARE_VERBS:
        return None
    if len(words) > _MAX_WORDS or _VAGUE.search(text) or len(text) < 2:
        return None
    if _DEFINITE.match(text) and not _GENERIC_DEFINITE.match(text):
        return None
    return Part(text, begin, begin + len(text))


def object_key(text: str) -> str:
    """Return the key of a thing: "listening to jazz", "to listen to jazz" and "jazz" share one."""
    bare = _GERUND.sub("", text.strip(" \"'"))
    bare = _CONSUME.sub("", bare) or bare
    bare = re.sub(r"^(?:a|an|the|some|my) ", "", bare, flags=re.IGNORECASE)
    return normalise_key(_DOING.get(bare.lower(), bare))


# "To read" and "reading" are one thing.
_DOING = {
    verb: doing
    for doing, verb in (
        pair.split(":")
        for pair in "reading:read cooking:cook singing:sing dancing:dance swimming:swim running:run hiking:hike"
        " skiing:ski painting:paint drawing:draw writing:write baking:bake diving:dive sailing:sail"
        " knitting:knit climbing:climb jogging:jog surfing:surf skating:skate cycling:cycle"
        " traveling:travel traveling:travelling gardening:garden".split()
    )
}
