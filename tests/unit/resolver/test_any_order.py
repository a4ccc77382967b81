"""The same decisions in any order and any batches give the same end state (C9, invariants 5 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.resolver.model import Decided
from schemas.words import Action, MemoryType, Polarity, SourceType
from tests.unit.resolver.world import World, claim, ends, order

ROWS = st.integers(1, 12)
CLAIMS = st.builds(
    claim,
    ROWS,
    st.sampled_from(["Vim", "Helix", "Emacs"]),
    key=st.sampled_from(["editor", "ide"]),
    outcome=st.sampled_from(["accept", "accept", "accept", "pend", "confirm", "quarantine", "reject"]),
    conversation=st.sampled_from(["c1", "c2", "c3", "c4"]),
    type=st.sampled_from([MemoryType.FACT, MemoryType.FACT, MemoryType.TEMPORARY_PREFERENCE]),
    polarity=st.sampled_from([Polarity.POSITIVE, Polarity.POSITIVE, Polarity.NEGATIVE]),
    source_type=st.sampled_from(list(SourceType)),
    confidence=st.sampled_from([0.4, 0.6, 0.9]),
    replaces=st.booleans(),
    turn=st.sampled_from(["x", "y"]),
)
ENDS = st.builds(ends, ROWS, st.sampled_from(["Vim", "Helix", ""]), key=st.sampled_from(["editor", "ide"]))
REVERTS = st.builds(order, ROWS, st.just(Action.REVERT), conversation=st.sampled_from(["c1", "c2"]))
DECISIONS = st.lists(st.one_of(CLAIMS, CLAIMS, CLAIMS, CLAIMS, ENDS, REVERTS), min_size=1, max_size=14)


def played(decisions: Sequence[Decided], cuts: Sequence[int] = ()) -> World:
    world = World()
    edges = [0, *sorted(cut % (len(decisions) + 1) for cut in cuts), len(decisions)]
    for start, stop in pairwise(edges):
        world.take(*decisions[start:stop])
    return world


@settings(max_examples=300, deadline=None)
@given(st.data(), DECISIONS, st.lists(st.integers(0, 20), max_size=4))
def test_any_order_and_batching(data: st.DataObject, decisions: list[Decided], cuts: list[int]) -> None:
    shuffled = data.draw(st.permutations(decisions))
    assert played(shuffled, cuts).summary() == played(decisions).summary()


@settings(max_examples=150, deadline=None)
@given(DECISIONS, st.lists(st.integers(0, 20), max_size=4))
def test_batches_do_not_even_change_versions(decisions: list[Decided], cuts: list[int]) -> None:
    one, many = played(decisions), played(decisions, cuts)
    assert [row[:4] for row in one.versions] == [row[:4] for row in many.versions]
    assert one.memories == many.memories


@settings(max_examples=150, deadline=None)
@given(DECISIONS, st.data())
def test_redelivery_changes_nothing(decisions: list[Decided], data: st.DataObject) -> None:
    world = played(decisions)
    again = data.draw(st.lists(st.sampled_from(decisions), max_size=8))
    result = world.take(*again)
    assert result.versions == []
    assert world.summary() == played(decisions).summary()
