from __future__ import annotations

import pytest

from policy.document import load_policy
from policy.text import terms
from recall.conditions import Situation
from recall.model import Known, Ranked
from recall.ranking import CALIBRATIONS, contradicts, lexical_scores, rank, recency
from schemas.words import MemoryType, Polarity
from tests.unit.recall.made import NOW, known

POLICY = load_policy()


def ranking(memories: list[Known], query: str, *statements: str, scope: str | None = None) -> list[Ranked]:
    situation = Situation.of((query, *statements), NOW, scope)
    return rank(memories, query, situation, POLICY, statements=statements, calibration=CALIBRATIONS["hash"])


def values(found: list[Ranked]) -> list[str]:
    return [entry.memory.content.value for entry in found]


def test_the_words_of_the_question_decide_between_equals() -> None:
    memories = [known("Helix", key="editor"), known("龙井茶", key="likes.tea"), known("jazz", key="likes.jazz")]
    assert values(ranking(memories, "Which editor?"))[0] == "Helix"
    assert values(ranking(memories, "他喜欢喝什么茶？"))[0] == "龙井茶"


def test_weights_are_those_of_policy() -> None:
    perfect = known("x", importance=1.0, confidence=1.0, explicit=True, similarity=1.0)
    nothing = known("y", importance=0.0, confidence=0.0, age_days=100_000)
    first, last = ranking([nothing, perfect], "unrelated")
    assert first.score == pytest.approx(0.45 + 0.20 + 0.15 + 0.15 + 0.05)
    assert last.score == pytest.approx(0.0, abs=1e-3)
    explicit = ranking([known("x", explicit=True)], "q")[0].score - ranking([known("x")], "q")[0].score
    assert explicit == pytest.approx(0.05)


def test_recency_halves_with_the_half_life_of_the_type() -> None:
    for kind, days in ((MemoryType.PREFERENCE, 365), (MemoryType.TEMPORARY_PREFERENCE, 7), (MemoryType.GOAL, 60)):
        assert recency(known("x", kind=kind, age_days=days), NOW, POLICY) == pytest.approx(0.5)
    assert recency(known("x", age_days=-1), NOW, POLICY) == 1.0


def test_a_standing_taboo_does_not_fade() -> None:
    assert recency(known("nuts", polarity=Polarity.NEGATIVE, age_days=4000), NOW, POLICY) == 1.0


def test_rare_words_count_more_than_common_ones() -> None:
    scores = lexical_scores("likes oysters", ["likes tea", "likes jazz", "likes oysters", "oysters"])
    assert scores[3] > scores[0]
    assert scores[2] == pytest.approx(1.0)
    assert lexical_scores("", ["a"]) == [0.0]
    assert lexical_scores("x", []) == []


def test_conditions_that_fail_are_marked_and_untold_ones_come_later() -> None:
    coffee = known("coffee", key="drink", conditions=("when.weekday",))
    tea = known("tea", key="drink", conditions=("when.weekend",))
    go = known("Go", key="language", conditions=("in.project.backend",))
    python = known("Python", key="language")
    found = {entry.memory.content.value: entry for entry in ranking([coffee, tea, go, python], "drink language")}
    assert (found["tea"].holds, found["coffee"].holds) == (True, False)
    assert found["Go"].holds is None
    assert found["Go"].score < found["Python"].score
    assert ranking([go], "which language for the backend?")[0].holds is True


def test_a_scoped_memory_serves_its_scope_only_by_segments() -> None:
    memory = known("Go", key="language", scope="project.p1")
    assert ranking([memory], "language?", scope="project.p1")[0].holds is True
    assert ranking([memory], "language?", scope="project.p1.backend")[0].holds is True
    assert ranking([memory], "language?", scope="project.p10")[0].holds is False
    assert ranking([memory], "language?")[0].holds is False
    assert ranking([memory], "language in p1?")[0].holds is True


@pytest.mark.parametrize(
    ("statement", "value", "key", "polarity", "expected"),
    [
        ("I don't like oysters any more", "oysters", "likes.oysters", Polarity.POSITIVE, True),
        ("I like oysters", "oysters", "likes.oysters", Polarity.POSITIVE, False),
        ("I like oysters", "oysters", "likes.oysters", Polarity.NEGATIVE, True),
        ("我不喜欢牡蛎", "牡蛎", "likes.牡蛎", Polarity.POSITIVE, True),
        ("My editor is Helix now", "Vim", "editor", Polarity.NEUTRAL, True),
        ("My editor is Vim", "Vim", "editor", Polarity.NEUTRAL, False),
        ("The weather is nice", "Vim", "editor", Polarity.NEUTRAL, False),
    ],
)
def test_what_was_just_said_beats_memory(
    statement: str, value: str, key: str, polarity: Polarity, expected: bool
) -> None:
    memory = known(value, key=key, polarity=polarity)
    assert contradicts(statement, frozenset(terms(statement)), memory) is expected


def test_contradicted_memories_are_demoted_and_marked() -> None:
    plain = ranking([known("Vim", key="editor")], "editor")[0]
    against = ranking([known("Vim", key="editor")], "editor", "My editor is Helix now")[0]
    assert against.contradicted
    assert against.score == pytest.approx(plain.score / 2)
