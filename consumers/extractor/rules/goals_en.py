"""English goals and plans with a time: "I want to run a marathon this year", "my goal is to learn Spanish"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from consumers.extractor.rules.claim import GOALS, Claim
from policy.text import normalise_key
from schemas.words import MemoryType, Polarity

_ADVERB = (
    r"(?: (?:also|really|just|now|currently|still|actually|have|definitely|always|finally|already|so"
    r"|recently|been|even|seriously))*"
)
_FIRM = (
    rf"(?<![\w'])I(?:'m| am|'ve| have)?{_ADVERB} (?:plan(?:ned|ning)? to|planning on|planning(?= (?:a"
    rf"|my|our) (?:trip|wedding|move|holiday|vacation|marathon)\b)|intend(?:ing)? to"
    rf"|aim(?:ing)? to|determined to|decided to|set on|preparing (?:to|for)|saving (?:up )?for"
    rf"|training for|working towards?|dream(?:ing)? of|dream (?:is )?to|resolved to)"
)
_SOFT = (
    rf"(?<![\w'])I(?:'m| am|'ve| have)?{_ADVERB} (?:wanted|want|hope|hoping|wish|would like|going"
    rf"|looking) to|(?<![\w'])I'd{_ADVERB} like to"
)
_NAMED = (
    r"\bmy (?:(?:main|biggest|next|current|new|ultimate|long-term|short-term|life|career|fitness"
    r"|new year's) )*(?:goal|dream|aim|resolution|ambition|target|plan)(?: (?:for"
    r"|this) [\w ]{2,20}?)? is (?:to |that I )?"
)
_GOAL = re.compile(
    rf"(?:(?P<named>{_NAMED})|(?P<firm>{_FIRM})|(?P<soft>{_SOFT})) ?(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_STOP = re.compile(
    r"[.;!?()\n]|,? (?:because|but|since|although|though|which|who|and I|so (?:that|I|do|can|what)"
    r"|so as|and (?:it|they|hope|was|am|want|feel|see if|find out|maybe|get your)|do you|can you"
    r"|could you|what|any|if|as I|as it|however|in order to|while|and (?:my|this|that)"
    r"|to (?:relax|relieve|get away|clear my|unwind|reduce|make myself)|I|we|it)\b"
    # "cities like Rome, Paris and Vienna": what is listed by name belongs to the aim.
    r"|, (?!(?:and |or )?(?-i:[A-Z])[\w'\-]*(?: (?-i:[A-Z])[\w'\-]*)*(?:,| and | or |[.!?]|$))"
)
# Doing these starts a durable effort; wanting anything else needs a stated time to be a goal.
_DURABLE = re.compile(
    r"^(?:(?:continue|start|keep|try|be able|begin|work hard"
    r"|challenge myself) (?:to )?)?(?:learn(?:ing)?|master(?:ing)?|become|becoming|improv(?:e|ing)|lose"
    r"|losing|gain|run a|write a|writing a|publish|travel(?:ing)? (?:to|around)|visit(?:ing)? (?=[A-Z])"
    r"|go(?:ing)? to (?=[A-Z])|trip to|climb(?:ing)?"
    r"|stud(?:y|ying) (?:for|abroad|in|at)|move to|build|open (?:a|my)|start(?:ing)? (?:a|my)"
    r"|quit(?:ting)?|change (?:my )?(?:job|career)s?|pass|finish|complete|buy(?:ing)? a (?:house|car"
    r"|flat|apartment|home)|save|get(?:ting)? (?:a degree|fit|in shape|a job|married|certified"
    r"|into (?!the|it))"
    r"|apply|pursue|explore (?=[A-Z])|train|exercise|read \d+|hike|participate|compete|take up|earn"
    r"|a (?:trip|marathon|career|business|novel|degree)|the marathon|an? (?:exam|important speech"
    r"|presentation|interview|competition|performance)|stop|cook more|eat health)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:you|your|it|that|this (?!year|month|quarter|week|summer|winter|spring|autumn|fall|semester"
    r"|term)|these|those|them|him|her|some(?! (?:day|point))|something|someone|suggestions?"
    r"|recommend\w*|advice|question|today|tonight|tomorrow|later|now|right away|this (?:afternoon"
    r"|evening|morning|weekend)|soon|again|what|how|whether|why"
    r"|methods?|ways?|dinner|lunch|breakfast|a walk|a bit|shopping|bed|sleep|rest|first)\b|^(?:be happy"
    r"|relax|talk|chat|ask|know|hear|share|say|tell|discuss|see|watch|find|try|give|take|thank|look"
    r"|listen|go out|do|make|get|hang|eat|cook|meet|understand|think|have|express|choose|hear|be"
    r"|buy (?!a (?:house|car|flat))|call)\b",
    re.IGNORECASE,
)
_TRAIL = re.compile(r" (?:recently|lately|next|now|soon|as well|too|again|someday|one day)$", re.IGNORECASE)
# Without its verb "an important speech" would be no aim.
_PREPARES = re.compile(r"(?:preparing|training|saving up|saving) for$", re.IGNORECASE)
_VAGUE = re.compile(
    r"^(?:learn(?:ing)?|improve|improving|master|explore|study|become|becoming|change|start|pursue|gain"
    r"|build|continue)(?: (?:about|more|a lot|many|new|better|my|some|from|it|lot|how to (?:be|do)"
    r"|to be|things?|skills?|knowledge|myself|ourselves|experience|something|life|a new skill|further"
    r"|things|learning|hard|and|improving|studying))*$",
    re.IGNORECASE,
)


def find(text: str, is_timed: Callable[[], bool]) -> Iterator[Claim]:
    """Yield what the speaker aims at; ``is_timed`` tells whether the sentence names a time of a week or longer."""
    plain = text.replace("\u2019", "'")
    match = _GOAL.search(plain)
    if match is None:
        return
    stop = _STOP.search(match["rest"])
    goal = (match["rest"][: stop.start()] if stop else match["rest"]).strip(" ,.")
    goal = _TRAIL.sub("", goal)
    words = goal.split()
    if not 2 <= len(words) <= 16 and not (match["named"] and words):
        return
    if _PASSING.search(goal) or _VAGUE.match(goal):
        return
    timed = is_timed()
    durable = _DURABLE.match(goal) is not None
    if not (timed or durable or match["named"]):
        return
    if (
        match["soft"]
        and not (timed and durable)
        and not re.match(
            r"(?:learn|master|become|travel|visit|go to [A-Z]|write|run a|lose|move|study|open|publish|climb)",
            goal,
            re.IGNORECASE,
        )
    ):
        return
    start = match.start("rest") + match["rest"].index(goal)
    prepares = _PREPARES.search(match["firm"] or "")
    yield Claim(
        GOALS,
        goal_key(goal),
        f"{prepares[0]} {goal}" if prepares else goal,
        match.start(),
        start + len(goal),
        "en.goal",
        type=MemoryType.GOAL,
        polarity=Polarity.POSITIVE,
        confidence=0.75 if match["soft"] else 0.8,
        importance=0.7,
        conditional=False,
    )


def goal_key(goal: str) -> str:
    """Return the key of a goal: its words without the time it names."""
    bare = re.sub(
        r"\b(?:this|next|by|the|end|of|until|in|a|an|my) ?(?:year|month|quarter|week|summer|winter)?\b",
        " ",
        goal,
        flags=re.IGNORECASE,
    )
    return normalise_key(" ".join((bare or goal).split()[:8]))
