"""Which condition bounds which claim: "tea on weekends, but I hate milk" says nothing of milk on weekends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from consumers.extractor.rules.claim import Claim
from policy.conditions import Place, Stripped

_NEW_STATEMENT = re.compile(r"\b(?:but|and|so|because|while|though)\b|;", re.IGNORECASE)


def bound(claims: Sequence[Claim], bare: Stripped) -> Iterator[tuple[Claim, Stripped]]:
    """Yield each claim with the clause bounded by its own conditions alone.

    A condition before a statement bounds all of it; one behind a thing bounds that thing and those listed
    before it, back to the condition before: "tea and cake in the morning and wine at night".
    """
    if not bare.places:
        yield from ((claim, bare) for claim in claims)
        return
    names: dict[int, list[str]] = {}
    taken: list[Claim] = []
    upto = -1
    for place in bare.places:
        group = _led(claims, bare, place)
        if group is None:
            group = _closed(claims, bare.text, place, upto) or (taken if place.at == upto else [])
            taken, upto = group, place.at
        for claim in group:
            names.setdefault(id(claim), []).append(place.name)
    for claim in claims:
        own = tuple(sorted(names.get(id(claim), ())))
        unresolved = bare.unresolved and any(name.startswith("in.project") for name in own)
        yield claim, replace(bare, conditions=own, unresolved=unresolved)


def _led(claims: Sequence[Claim], bare: Stripped, place: Place) -> list[Claim] | None:
    """Return what a condition that opens a statement bounds, None where it does not open one."""
    text = bare.text
    ahead = [claim for claim in claims if claim.conditional and claim.end > place.at]
    if not place.leads or not ahead:
        return None
    start = min(ahead, key=lambda claim: claim.end).start
    if _NEW_STATEMENT.search(text[place.at : max(start, place.at)]):
        return None
    # "On weekdays I drink espresso, on weekends I prefer tea": the first one's statement claims nothing.
    later = [other.at for other in bare.places if other.leads and place.at < other.at <= start]
    if any(text[place.at : at].strip(" ,") for at in later):
        return None
    return [claim for claim in ahead if claim.start == start]


def _closed(claims: Sequence[Claim], text: str, place: Place, upto: int) -> list[Claim]:
    """Return what a condition bounds that stands behind or within a statement."""
    behind = [claim for claim in claims if claim.conditional and claim.end <= place.at]
    if not behind:
        return [claim for claim in claims if claim.conditional and claim.start <= place.at < claim.end]
    last = max(behind, key=lambda claim: claim.end)
    if _NEW_STATEMENT.search(text[last.end : place.at]):
        return []
    return [claim for claim in behind if claim.start == last.start and claim.end > upto]
