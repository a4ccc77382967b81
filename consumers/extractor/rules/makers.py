"""Makers of claims about the speaker: what every fact rule does with its match, in both languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from consumers.extractor.rules.claim import PROFILE, Claim
from policy.text import normalise_key
from schemas.words import Polarity

Maker = Callable[[re.Match[str]], Claim | None]
Cue = TypeVar("Cue")

_CHANGED = re.compile(r"\b(?:now|actually)\b|现在|改", re.IGNORECASE)
_COUNT = re.compile(r"^(?:a|an|one) ", re.IGNORECASE)


class Row(NamedTuple, Generic[Cue]):
    """A rule: it is tried only where one of its cues stands in the sentence."""

    cue: Cue
    pattern: re.Pattern[str]
    make: Maker


def fact(key: str, rule: str, importance: float = 0.6, *, replaces: bool = False, ends: bool = False) -> Maker:
    """Return a maker for a slot of one value: the group ``it`` of the match fills ``key``."""

    def make(match: re.Match[str]) -> Claim | None:
        value = match["it"].strip(" .,!?，。")
        if not value:
            return None
        return Claim(
            PROFILE,
            key,
            value,
            match.start(),
            match.end(),
            rule,
            confidence=0.9,
            importance=importance,
            replaces=replaces or ends or _CHANGED.search(match[0]) is not None,
            ends=ends,
            conditional=False,
        )

    return make


def keyed(
    prefix: str,
    rule: str,
    importance: float = 0.5,
    namespace: str = PROFILE,
    *,
    negative: bool = False,
    ends: bool = False,
) -> Maker:
    """Return a maker for a slot of many values: the group ``what``, else ``it``, ends the key."""

    def make(match: re.Match[str]) -> Claim | None:
        value = match["it"].strip(" .,!?，。")
        what = match.groupdict().get("what") or value
        return Claim(
            namespace,
            f"{prefix}.{normalise_key(_COUNT.sub('', what))}",
            value,
            match.start(),
            match.end(),
            rule,
            polarity=Polarity.NEGATIVE if negative else Polarity.NEUTRAL,
            confidence=0.9,
            importance=importance,
            replaces=ends,
            ends=ends,
            conditional=False,
        )

    return make


def cue(words: str) -> frozenset[str]:
    """Return words as the cue of an English rule."""
    return frozenset(words.split())
