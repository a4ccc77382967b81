"""What goes because it has expired changes nothing of what stays: not now, and not when more is said."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.purger.expiry.slots import silenced
from consumers.resolver.model import Decided
from consumers.settling.memory import Memory
from schemas.words import MemoryStatus, MemoryType, SourceType
from tests.unit.resolver.world import NOON, RULES, World, claim, ends

SOON, LATER = NOON + timedelta(hours=1), NOON + timedelta(days=60)
CLAIMS = st.builds(
    claim,
    st.integers(1, 12),
    st.sampled_from(["Vim", "Helix", "Emacs"]),
    outcome=st.sampled_from(["accept", "accept", "accept", "pend", "confirm", "quarantine"]),
    conversation=st.sampled_from(["c1", "c2", "c3"]),
    type=st.sampled_from([MemoryType.FACT, MemoryType.PREFERENCE]),
    source_type=st.sampled_from(list(SourceType)),
    confidence=st.sampled_from([0.6, 0.9]),
    replaces=st.booleans(),
    expires_at=st.sampled_from([None, SOON]),
)
ENDS = st.builds(ends, st.integers(1, 12), st.sampled_from(["Vim", "Helix", ""]))
DECISIONS = st.lists(st.one_of(CLAIMS, CLAIMS, CLAIMS, ENDS), min_size=1, max_size=10)
_WAITING = (MemoryStatus.ACTIVE, MemoryStatus.CONFLICTED, MemoryStatus.SUGGESTED, MemoryStatus.PENDING)


def grown_old(decisions: list[Decided]) -> World:
    """Long afterwards, when time has ended what it ends."""
    world = World()
    world.take(*decisions)
    world.now = LATER
    for memory in world.memories.values():
        ended = memory.expires_at is not None and memory.expires_at <= LATER
        if ended and memory.status in (*_WAITING, MemoryStatus.QUARANTINED):
            memory.status = MemoryStatus.EXPIRED
    return world


def cleaned(world: World, gone: set[bytes]) -> None:
    """Take memories out as a batch does."""
    slots: dict[tuple[bytes, bytes], list[Memory]] = {}
    for memory in world.memories.values():
        slots.setdefault((memory.subject.handle or b"", memory.identity), []).append(memory)
    for place, slot in slots.items():
        rest = [memory for memory in slot if memory.id not in gone]
        quiet, _ = silenced(rest, world.endings.get(place, ()), RULES, LATER)
        for memory in rest:
            if memory.id in quiet:
                memory.evidence = []
        for memory in slot:
            if memory.id in gone:
                del world.memories[memory.id]


def in_use(world: World) -> set[str]:
    held = (MemoryStatus.ACTIVE, MemoryStatus.CONFLICTED)
    return {world.contents[memory.id].value for memory in world.memories.values() if memory.status in held}


@settings(max_examples=400, deadline=None)
@given(DECISIONS, st.data())
def test_nothing_that_was_replaced_stands_again(decisions: list[Decided], data: st.DataObject) -> None:
    world = grown_old(decisions)
    expired = [one.id for one in world.memories.values() if one.status is MemoryStatus.EXPIRED]
    gone = set(data.draw(st.lists(st.sampled_from(expired)))) if expired else set()
    kept = deepcopy(world)
    cleaned(world, gone)
    assert in_use(world) == in_use(kept)
    # Whatever has the slot settled again.
    more = data.draw(st.sampled_from([ends(20, "Nano"), claim(20, "Nano", at=LATER + timedelta(minutes=1))]))
    for one in (world, kept):
        one.now = LATER + timedelta(hours=1)
        one.take(more)
    assert in_use(world) == in_use(kept)


def test_what_the_expired_one_had_replaced_is_silenced() -> None:
    world = grown_old([claim(1, "Vim"), claim(2, "Helix", expires_at=SOON)])
    assert (world.status("Vim"), world.status("Helix")) == ("superseded", "expired")
    vim = world.of("Vim")
    assert silenced([vim], (), RULES, LATER) == ({vim.id}, True)
    # What is in use and stands by itself is left alone.
    world.take(claim(3, "Emacs", at=LATER))
    assert silenced([world.of("Vim"), world.of("Emacs")], (), RULES, LATER) == (set(), True)


def test_a_conflict_that_has_lost_its_other_side_is_none() -> None:
    fact = {"type": MemoryType.FACT}
    world = grown_old(
        [
            claim(1, "Vim", **fact),
            claim(2, "Helix", source_type=SourceType.TOOL_VERIFIED, expires_at=SOON, **fact),
        ]
    )
    assert (world.status("Vim"), world.status("Helix")) == ("conflicted", "expired")
    # It is in use either way, and settled anew.
    assert silenced([world.of("Vim")], (), RULES, LATER) == (set(), False)
