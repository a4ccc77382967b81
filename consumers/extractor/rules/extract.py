"""A screened turn in, drafts out. Pure: whatever it proposes still has to pass the gate (invariant 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from consumers.extractor.rules import context, cues, reading, trust
from consumers.extractor.rules import sentences as kinds
from consumers.extractor.rules.claim import NOTES, WORK, Claim
from policy.screening import sensitivity
from policy.text import normalise_key, terms
from policy.times import find_bounds
from schemas.records import Content, Draft, Segment, Spoken
from schemas.words import MemoryType, Polarity, Role, SourceType

NAME = "rules"
VERSION = "1"

# A turn can hold a megabyte; what a person means to be remembered stands in far less.
_MAX_TEXT = 20_000
_MAX_DRAFTS = 32
_MAX_FOREIGN = 3
# Below the gate's default minimum: a wish inside a service request waits for a second mention.
_WEAK = 0.4
_PASSING = timedelta(days=2)
_LEARNING_LASTS = timedelta(days=180)
_EVIDENCE_LASTS = timedelta(days=14)
_UNTIL = re.compile(r"(?:until|till|through|by|到|直到|在)\b|[到直在]", re.IGNORECASE)
_INSTRUCTS = re.compile(
    r"\b(?:remember|always|never|from now on|ignore|forget|you must|keep in mind|note that|do not"
    r"|don't)\b|记住|永远|以后|务必|必须|忽略|忘记|一律|始终",
    re.IGNORECASE,
)
_PREFERENCES = (MemoryType.PREFERENCE, MemoryType.TEMPORARY_PREFERENCE)


def extract(spoken: Spoken) -> tuple[Draft, ...]:
    """Return what a turn makes worth remembering.

    Only the person speaks for the person: other roles propose nothing (W11). Untrusted text proposes at
    most evidence of source ``external``, which policy quarantines (W7).
    """
    if spoken.role is not Role.USER:
        return ()
    drafts: list[Draft] = []
    for segment in spoken.segments:
        text = segment.text[:_MAX_TEXT]
        words = cues.words_of(text)
        if cues.worth_reading(text, words):
            drafts += _segment(spoken, segment, text, words)
    if not drafts or any(kinds.is_joke(segment.text[:_MAX_TEXT]) for segment in spoken.segments):
        return ()
    return _distinct(drafts)


def _segment(spoken: Spoken, segment: Segment, text: str, words: set[str]) -> Iterator[Draft]:
    if not segment.origin.trusted:
        yield from _foreign(spoken, text, 0, len(text))
        return
    for stretch in trust.stretches(text, words):
        if stretch.own:
            yield from _own(spoken, text, stretch)
        else:
            yield from _foreign(spoken, text, stretch.start, stretch.end)


def _own(spoken: Spoken, text: str, stretch: trust.Stretch) -> Iterator[Draft]:
    changed: bool | None = None
    request = False
    for sentence in kinds.sentences(text, stretch.start, stretch.end):
        for found in reading.read(sentence):
            if changed is None:
                # Looked at only once something was found: most turns hold nothing.
                changed, request = context.changed_mind(text), context.is_request(text)
            draft = _draft(spoken, found, changed, request)
            if draft is not None:
                yield draft


def _draft(spoken: Spoken, found: reading.Reading, changed: bool, request: bool) -> Draft | None:
    """Return the draft of one reading, None where it holds for a passing moment only (W6)."""
    claim = found.claim
    kind, begins, expires = _lifetime(spoken, found)
    if kind is MemoryType.GOAL and expires is not None and expires - spoken.at <= _PASSING:
        return None
    weak = not found.explicit and (kinds.is_hedged(found.scope) or (request and _is_wish(claim)))
    return Draft(
        content=Content(claim.namespace, claim.key, claim.value, found.quote, found.conditions),
        type=kind,
        polarity=claim.polarity,
        source_type=SourceType.USER_STATED,
        confidence=_WEAK if weak else claim.confidence,
        importance=claim.importance,
        sensitivity=sensitivity(f"{found.quote}\n{claim.value}\n{claim.key}"),
        explicit=found.explicit,
        replaces=claim.replaces or (changed and not claim.ends) or claim.ends,
        ends=claim.ends,
        third_party=claim.third_party or (not spoken.author_is_subject and claim.namespace != WORK),
        unresolved_scope=found.unresolved,
        valid_from=begins,
        expires_at=expires,
        visibility=spoken.visibility,
        rule=claim.rule,
        target=claim.target,
    )


def _is_wish(claim: Claim) -> bool:
    return claim.rule.startswith(("en.", "zh.", "verbless")) and claim.key != "name"


def _lifetime(spoken: Spoken, found: reading.Reading) -> tuple[MemoryType, datetime | None, datetime | None]:
    """Return the type, begin and end of a claim: a stated time makes a preference a temporary one (C8, C12)."""
    claim = found.claim
    bounds = None if claim.ends else find_bounds(found.scope, spoken.at, spoken.timezone)
    if claim.rule.endswith(".learning"):
        return claim.type, None, spoken.at + _LEARNING_LASTS
    if bounds is None:
        return claim.type, None, None
    if claim.type in _PREFERENCES:
        return MemoryType.TEMPORARY_PREFERENCE, bounds.valid_from, bounds.expires_at
    if claim.type is MemoryType.GOAL or _UNTIL.match(found.scope, bounds.start):
        return claim.type, bounds.valid_from, bounds.expires_at
    return claim.type, None, None


def _foreign(spoken: Spoken, text: str, start: int, end: int) -> Iterator[Draft]:
    """Keep instructions in other people's text as evidence of source ``external``, and nothing else of it."""
    count = 0
    for sentence in kinds.sentences(text, start, end):
        if count >= _MAX_FOREIGN:
            return
        if _INSTRUCTS.search(sentence.text) is None or len(sentence.text) > 400:
            continue
        count += 1
        yield Draft(
            content=Content(NOTES, _note_key(sentence.text), sentence.text, sentence.text),
            type=MemoryType.FACT,
            polarity=Polarity.NEUTRAL,
            source_type=SourceType.EXTERNAL,
            confidence=0.3,
            importance=0.1,
            sensitivity=sensitivity(sentence.text),
            third_party=True,
            expires_at=spoken.at + _EVIDENCE_LASTS,
            visibility=spoken.visibility,
            rule="external.instruction",
        )


def _note_key(text: str) -> str:
    return normalise_key("external." + "_".join(terms(text)[:6]))


def _distinct(drafts: Iterable[Draft]) -> tuple[Draft, ...]:
    """Keep the last word on each slot; a turn of many thousand claims is no person speaking."""
    found: dict[tuple[object, ...], Draft] = {}
    for draft in drafts:
        content = draft.content
        # The end of one value is no word on the next: "I use Helix now. I no longer use Vim."
        ended = content.value if draft.ends and "." not in content.key else ""
        found[(content.namespace, content.key, content.conditions, draft.source_type, ended)] = draft
    return tuple(found.values())[:_MAX_DRAFTS]
