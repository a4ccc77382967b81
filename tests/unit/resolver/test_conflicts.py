"""What becomes of two claims that meet: C1 to C8, and what users of systems like this reported."""

from __future__ import annotations

from datetime import timedelta

import pytest

from schemas.words import MemoryType, Polarity, SourceType, Visibility
from tests.unit.resolver.world import NOON, World, claim, ends

TOOL, MODEL, CONFIRMED = SourceType.TOOL_VERIFIED, SourceType.MODEL_INFERRED, SourceType.USER_CONFIRMED
FACT, TEMPORARY = MemoryType.FACT, MemoryType.TEMPORARY_PREFERENCE


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("accept", "active"), ("pend", "pending"), ("confirm", "suggested"), ("quarantine", "quarantined")],
)
def test_an_outcome_gives_a_status(world: World, outcome: str, status: str) -> None:
    result = world.take(claim(1, "Vim", outcome=outcome))
    assert world.status("Vim") == status
    assert result.counts == {status: 1}
    assert world.history(world.of("Vim"))[0][:2] == (1, status)


def test_what_is_rejected_leaves_nothing(world: World) -> None:
    assert world.take(claim(1, "Vim", outcome="reject")).counts == {"none": 1}
    assert not world.memories
    assert not world.versions


def test_the_same_again_is_one_fact_with_two_supports(world: World) -> None:
    """B4, C2, E5."""
    trip = {"key": "trip", "type": FACT, "namespace": "profile"}
    world.take(claim(1, "Trip with the whole family", **trip))
    result = world.take(claim(2, "a trip with all the family", **trip, conversation="c2"))
    memory = world.of("Trip with the whole family")
    assert (memory.count, memory.version, str(memory.status)) == (2, 1, "active")
    assert len(world.memories) == 1
    assert result.counts == {"merged": 1}
    assert result.versions == [], "an added source needs no new embedding"
    assert [support.memory for support in result.supports] == [memory.id]


def test_eight_deliveries_of_one_turn_are_one_fact(world: World) -> None:
    """E1."""
    dog = claim(1, "a dog", key="pet", type=FACT)
    outcomes = world.take(*[dog] * 5).counts + world.take(*[dog] * 3).counts
    assert outcomes == {"active": 1, "duplicate": 7}
    assert (world.of("a dog").count, len(world.versions)) == (1, 1)


def test_a_new_statement_of_the_person_supersedes(world: World) -> None:
    """C4, D1: linked both ways, and the old one leaves before the new one comes."""
    world.take(claim(1, "Vim"))
    result = world.take(claim(2, "Helix"))
    old, new = world.of("Vim"), world.of("Helix")
    assert world.active() == {"Helix"}
    assert (str(old.status), old.version) == ("superseded", 2)
    assert (new.version, new.supersedes) == (2, old.id)
    assert [(row.memory, str(row.status)) for row in result.versions] == [(old.id, "superseded"), (new.id, "active")]
    assert (old.valid_to, new.valid_from, new.valid_to) == (NOON + timedelta(minutes=2),) * 2 + (None,)


def test_a_flip_of_polarity_supersedes(world: World) -> None:
    """B5."""
    oysters = {"key": "likes.oysters"}
    world.take(claim(1, "oysters", **oysters))
    world.take(claim(2, "oysters", **oysters, polarity=Polarity.NEGATIVE))
    found = {str(memory.polarity): str(memory.status) for memory in world.memories.values()}
    assert found == {"negative": "active", "positive": "superseded"}


def test_like_sounding_facts_of_other_slots_stay(world: World) -> None:
    """C13, D2."""
    world.take(claim(1, "Postgres", key="database.a", type=FACT))
    world.take(claim(2, "Postgres 17", key="database.b", type=FACT))
    assert world.active() == {"Postgres", "Postgres 17"}


def test_a_number_that_changes_is_an_update(world: World) -> None:
    """D4."""
    world.take(claim(1, "5 years at the firm", key="tenure", type=FACT))
    world.take(claim(2, "6 years at the firm", key="tenure", type=FACT))
    assert world.active() == {"6 years at the firm"}


def test_a_correction_in_chinese_supersedes(world: World) -> None:
    """D6."""
    world.take(claim(1, "PostgreSQL", key="项目.数据库", type=FACT))
    world.take(claim(2, "MySQL", key="项目.数据库", type=FACT, replaces=True))
    assert (world.status("MySQL"), world.status("PostgreSQL")) == ("active", "superseded")


@pytest.mark.parametrize(
    "other",
    [
        {"conditions": ("when.weekend",)},
        {"scope": "project.backend"},
        {"type": TEMPORARY},
        {"visibility": Visibility.SHARED},
        {"namespace": "work"},
        {"type": MemoryType.GOAL},
    ],
    ids=["condition", "scope", "temporary", "shared", "namespace", "goal"],
)
def test_other_slots_coexist(world: World, other: dict[str, object]) -> None:
    """C1, C5, C8, D10."""
    world.take(claim(1, "coffee", key="drink"), claim(2, "tea", key="drink", **other))  # type: ignore[arg-type]
    assert world.active() == {"coffee", "tea"}


def test_conditions_are_a_set(world: World) -> None:
    world.take(claim(1, "tea", conditions=("when.weekend", "at.home")))
    world.take(claim(2, "coffee", conditions=("At home", "when.weekend")))
    world.take(claim(3, "milk", conditions=("at.home", "when.weekend")))
    assert world.active() == {"milk", "coffee"}


@pytest.mark.parametrize("weaker", [TOOL, MODEL, SourceType.EXTERNAL])
def test_a_weaker_word_never_overwrites(world: World, weaker: SourceType) -> None:
    """C3, C6."""
    world.take(claim(1, "Vim"), claim(2, "Emacs", source_type=weaker, confidence=1.0))
    assert (world.status("Vim"), world.status("Emacs")) == ("active", "pending")
    assert world.history(world.of("Emacs")) == [(1, "pending", "weaker")]


def test_a_plain_statement_does_not_overwrite_a_confirmation(world: World) -> None:
    world.take(claim(1, "Vim", source_type=CONFIRMED), claim(2, "Emacs"))
    assert (world.status("Vim"), world.status("Emacs")) == ("active", "pending")


def test_a_stated_change_of_mind_does(world: World) -> None:
    """C4."""
    world.take(claim(1, "Vim", source_type=CONFIRMED), claim(2, "Emacs", replaces=True))
    assert (world.status("Vim"), world.status("Emacs")) == ("superseded", "active")
    world.take(claim(3, "Helix"))
    assert world.active() == {"Helix"}


def test_a_stronger_word_overwrites(world: World) -> None:
    world.take(claim(1, "Emacs", source_type=TOOL), claim(2, "Vim"))
    assert (world.status("Vim"), world.status("Emacs")) == ("active", "superseded")


def test_between_inferences_confidence_counts_then_the_newer(world: World) -> None:
    """C3."""
    inferred = {"source_type": MODEL}
    world.take(claim(1, "Vim", **inferred, confidence=0.9), claim(2, "Emacs", **inferred, confidence=0.7))
    assert (world.status("Vim"), world.status("Emacs")) == ("active", "pending")
    world.take(claim(3, "Helix", **inferred, confidence=0.9))
    assert world.active() == {"Helix"}


def test_tool_and_person_of_equal_trust_conflict(world: World) -> None:
    """C7, D11: both stay, and the person decides."""
    launch = {"key": "launch", "type": FACT, "namespace": "work"}
    world.take(claim(1, "May", **launch, source_type=TOOL))
    world.take(claim(2, "June", **launch))
    assert (world.status("May"), world.status("June")) == ("conflicted", "conflicted")
    assert world.active() == set()
    world.take(claim(3, "July", **launch, replaces=True))
    assert {value: world.status(value) for value in ("May", "June", "July")} == {
        "May": "superseded",
        "June": "superseded",
        "July": "active",
    }


def test_a_conflict_that_loses_a_side_is_decided(world: World) -> None:
    launch = {"key": "launch", "type": FACT, "namespace": "work"}
    world.take(claim(1, "May", **launch, source_type=TOOL), claim(2, "June", **launch), ends(3, "June", **launch))
    assert (world.status("May"), world.status("June")) == ("active", "revoked")
    assert world.history(world.of("May"))[-1][1:] == ("active", "undisputed")


def test_independent_evidence_promotes(world: World) -> None:
    """P5: other conversations count, repeats in one do not."""
    guess = {"source_type": MODEL, "outcome": "pend"}
    world.take(claim(1, "Vim", **guess), claim(2, "Vim", **guess), claim(3, "Vim", **guess))
    assert world.status("Vim") == "pending"
    world.take(claim(4, "Vim", **guess, conversation="c2"))
    assert world.status("Vim") == "pending"
    world.take(claim(5, "Vim", **guess, conversation="c3"))
    assert world.history(world.of("Vim")) == [(1, "pending", "pended"), (2, "active", "promoted")]


def test_repetition_neither_promotes_the_quarantined_nor_beats_the_person(world: World) -> None:
    world.take(claim(1, "Nano"))
    for row in range(2, 8):
        world.take(
            claim(row, "Vim", outcome="quarantine", conversation=f"c{row}", source_type=SourceType.EXTERNAL),
            claim(row, "Emacs", outcome="pend", conversation=f"c{row}", source_type=MODEL),
        )
    assert (world.status("Nano"), world.status("Vim"), world.status("Emacs")) == ("active", "quarantined", "pending")


def test_a_value_that_returns_is_the_same_memory_held_twice(world: World) -> None:
    """C13: "January to March, and again from September" is two intervals."""
    for row, value in enumerate(["Vim", "Helix", "Vim"], 1):
        world.take(claim(row, value))
    vim, helix = world.of("Vim"), world.of("Helix")
    minute = timedelta(minutes=1)
    assert vim.intervals == [(NOON + minute, NOON + 2 * minute), (NOON + 3 * minute, None)]
    assert (vim.supersedes, helix.supersedes) == (helix.id, None)
    assert world.history(vim) == [(1, "active", "accepted"), (2, "superseded", "superseded"), (3, "active", "accepted")]
    assert world.history(helix) == [(2, "active", "accepted"), (3, "superseded", "superseded")]


def test_an_ending_ends_its_own_value_only(world: World) -> None:
    """B7, C13."""
    world.take(claim(1, "tea", key="likes.tea"), claim(2, "jazz", key="likes.jazz"))
    assert world.take(ends(3, "opera", key="likes.opera")).counts == {"no_match": 1}
    assert world.take(ends(4, "coffee", key="likes.tea")).counts == {"no_match": 1}
    assert world.active() == {"tea", "jazz"}
    assert world.take(ends(5, "Tea", key="likes.tea")).counts == {"ended": 1}
    assert (world.status("tea"), world.active()) == ("revoked", {"jazz"})


def test_a_slot_that_names_its_value_ends_however_that_was_put(world: World) -> None:
    fish, tenure = {"key": "likes.鱼"}, {"key": "tenure.firm", "type": FACT}
    world.take(claim(1, "吃鱼", **fish), claim(2, "5 years at the firm", **tenure), claim(3, "Vim"))
    world.take(ends(4, "鱼", **fish), ends(5, "at the firm", **tenure), ends(6, "Emacs"))
    assert world.active() == {"Vim"}


def test_an_ending_that_says_what_it_ends_leaves_the_opposite(world: World) -> None:
    opera = {"key": "likes.opera", "polarity": Polarity.NEGATIVE}
    world.take(claim(1, "opera", **opera))
    assert world.take(ends(2, "opera", key="likes.opera", polarity=Polarity.POSITIVE)).counts == {"no_match": 1}
    assert world.take(ends(3, "opera", **opera)).counts == {"ended": 1}


def test_an_ending_does_not_bring_back_what_was_superseded(world: World) -> None:
    world.take(claim(1, "Vim"), claim(2, "Helix"), ends(3, "Helix"))
    assert world.active() == set()
    world.take(claim(4, "Helix"))
    assert world.active() == {"Helix"}


def test_only_the_persons_own_later_word_brings_back_what_ended(world: World) -> None:
    world.take(claim(1, "Vim"), ends(2, "Vim"))
    world.take(claim(3, "Vim", source_type=TOOL), claim(4, "Vim", source_type=MODEL, outcome="pend"))
    assert world.status("Vim") == "revoked"
    world.take(claim(5, "Vim"))
    assert world.status("Vim") == "active"


def test_forget_that_means_the_newest_of_the_conversation(world: World) -> None:
    """A7."""
    world.take(
        claim(1, "豆包", key="pet.cat", type=FACT),
        claim(2, "tea", key="likes.tea"),
        claim(3, "rain", key="likes.rain", conversation="c2"),
        ends(4, "", target="last"),
    )
    assert world.active() == {"豆包", "rain"}
    world.take(ends(5, "", target="last"))
    assert world.active() == {"rain"}
    assert world.take(ends(6, "", target="last")).counts == {"no_match": 1}


def test_an_ending_that_policy_did_not_accept_ends_nothing(world: World) -> None:
    world.take(claim(1, "Vim"))
    assert world.take(ends(2, "Vim", outcome="pend", source_type=MODEL)).counts == {"none": 1}
    assert world.active() == {"Vim"}


def test_what_is_past_its_time_is_expired_and_blocks_nobody(world: World) -> None:
    """C3 (unexpired), C12."""
    world.now = NOON + timedelta(days=2)
    world.take(claim(1, "tea", expires_at=NOON + timedelta(days=1)))
    assert world.status("tea") == "expired"
    late = claim(2, "coffee", source_type=MODEL, at=NOON + timedelta(days=2))
    world.take(late)
    assert (world.status("tea"), world.active()) == ("superseded", {"coffee"})


def test_a_suggestion_waits_for_as_long_as_policy_says(world: World) -> None:
    """P6."""
    world.take(claim(0, "Vim", outcome="confirm"))
    assert world.of("Vim").expires_at == NOON + timedelta(days=14)
    world.take(claim(0, "tea", outcome="confirm", key="drink", expires_at=NOON + timedelta(days=3)))
    assert world.of("tea").expires_at == NOON + timedelta(days=3)


def test_consent_that_was_withdrawn_is_final(world: World) -> None:
    """P7."""
    vim = claim(1, "Vim")
    result = world.take(vim, refused=[vim])
    assert result.counts == {"not_permitted": 1}
    assert result.refusals == [(vim.candidate, vim.keys.handle, vim.position)]
    assert not world.memories


def test_the_erased_leave_nothing(world: World) -> None:
    vim = claim(1, "Vim")
    assert world.take(vim, erased=[vim]).counts == {"erased_source": 1}
    assert not world.memories
