"""Does a memory apply to what is at hand? Conditions by policy's evaluator, scope by segments (C5, R12).

The answer has three values: True, False, and None where nothing tells. A condition is never guessed to hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from policy.conditions import holds as condition_holds
from policy.text import terms
from schemas.ids import within
from schemas.records import GLOBAL_SCOPE, Content


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known about now: what was asked and said, the scope named, and the asker's clock.

    Conditions look at ``said``; ``at`` is in the asker's zone, since weekdays and hours are read off it.
    """

    said: frozenset[str]
    at: datetime
    scope: str | None = None

    @classmethod
    def of(cls, texts: Iterable[str], at: datetime, scope: str | None = None) -> Situation:
        """Gather the words of everything said."""
        words = {term for text in texts for term in terms(text)}
        if scope:
            words.update(terms(scope.replace(".", " ").replace("_", " ")))
        return cls(frozenset(words), at, scope)


def applies(content: Content, situation: Situation) -> bool | None:
    """Evaluate scope and all conditions of a memory: False beats None beats True."""
    if not scope_holds(content.scope, situation):
        return False
    verdicts = [condition_holds(condition, situation.at, situation.said) for condition in content.conditions]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def scope_holds(scope: str, situation: Situation) -> bool:
    """A scoped memory serves its scope only: named by the asker, or plainly spoken of."""
    if scope == GLOBAL_SCOPE:
        return True
    if situation.scope is not None:
        return within(situation.scope, scope)
    name = set(terms(scope.rsplit(".", 1)[-1].replace("_", " ")))
    return bool(name) and name <= situation.said
