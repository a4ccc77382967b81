"""What a person orders about a memory: idempotent, effective at once, visible in history (U2, U3, C10, P6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from schemas.words import Action, MemoryType, SourceType
from tests.unit.resolver.world import NOON, World, claim, ends, order

TOOL, MODEL = SourceType.TOOL_VERIFIED, SourceType.MODEL_INFERRED
LAUNCH = {"key": "launch", "type": MemoryType.FACT, "namespace": "work"}


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("outcome", ["confirm", "pend"])
def test_confirming_makes_it_active_and_supersedes(world: World, outcome: str) -> None:
    world.take(claim(1, "Vim"), claim(2, "Helix", outcome=outcome))
    result = world.take(order(2, Action.CONFIRM, world.of("Helix")))
    assert world.active() == {"Helix"}
    assert result.counts == {"applied": 1}
    assert list(world.controls.values()) == [(True, "applied")]
    assert world.history(world.of("Helix"))[-1] == (2, "active", "confirmed")
    assert world.of("Helix").source_type is SourceType.USER_CONFIRMED


def test_confirming_settles_a_conflict(world: World) -> None:
    world.take(claim(1, "May", **LAUNCH, source_type=TOOL), claim(2, "June", **LAUNCH))
    world.take(order(3, Action.CONFIRM, world.of("May")))
    assert (world.status("May"), world.status("June")) == ("active", "superseded")


def test_confirming_keeps_a_stated_end(world: World) -> None:
    end = NOON + timedelta(days=60)
    world.take(claim(1, "Vim", outcome="confirm", expires_at=end))
    assert world.of("Vim").expires_at < end  # type: ignore[operator]
    world.take(order(2, Action.CONFIRM, world.of("Vim")))
    assert world.of("Vim").expires_at == end


def test_the_same_order_again_changes_nothing(world: World) -> None:
    world.take(claim(1, "Vim"), claim(2, "Helix"))
    for action in (Action.ROLLBACK, Action.DISABLE):
        again = order(3, action, world.of("Helix"), step=list(Action).index(action))
        world.take(again)
        before = world.summary(), len(world.versions)
        assert world.take(again).counts == {"duplicate": 1}
        assert (world.summary(), len(world.versions)) == before


@pytest.mark.parametrize("action", [Action.DECLINE, Action.DISABLE])
def test_declined_or_disabled_stays_out(world: World, action: Action) -> None:
    world.take(claim(1, "Vim", outcome="confirm"))
    world.take(order(2, action, world.of("Vim")))
    assert world.status("Vim") == "revoked"
    world.take(claim(3, "Vim", outcome="confirm"), claim(4, "Vim", outcome="pend", source_type=MODEL))
    assert world.status("Vim") == "revoked", "an answered question is not asked again"
    world.take(claim(5, "Vim"))
    assert world.status("Vim") == "active"


def test_correcting_supersedes_with_the_persons_value(world: World) -> None:
    world.take(claim(1, "Vim", conditions=("at.work",), importance=0.8))
    world.take(order(1, Action.CORRECT, world.of("Vim"), value="Neovim"))
    new = world.of("Neovim")
    assert (world.active(), world.status("Vim")) == ({"Neovim"}, "superseded")
    assert (new.version, new.supersedes, new.importance) == (2, world.of("Vim").id, 0.8)
    assert world.contents[new.id].conditions == ("at.work",)
    assert world.history(new) == [(2, "active", "corrected")]


def test_correcting_the_spelling_is_a_version_of_the_same_memory(world: World) -> None:
    world.take(claim(1, "vim"))
    world.take(order(1, Action.CORRECT, world.of("vim"), value="Vim"))
    assert world.history(world.of("Vim")) == [(1, "active", "accepted"), (2, "active", "corrected")]
    assert len(world.memories) == 1


def test_correcting_back_to_an_older_value(world: World) -> None:
    world.take(claim(1, "Vim"), claim(2, "Helix"))
    world.take(order(2, Action.CORRECT, world.of("Helix"), value="vim"))
    assert world.active() == {"Vim"}
    assert len(world.memories) == 2


def test_an_order_that_policy_rejects_is_not_applied(world: World) -> None:
    world.take(claim(1, "Vim"))
    world.take(order(1, Action.CORRECT, world.of("Vim"), value="x", outcome="reject"))
    assert world.active() == {"Vim"}
    assert list(world.controls.values()) == [(False, "rejected")]


def test_an_order_about_nothing(world: World) -> None:
    world.take(claim(1, "Vim"))
    stranger = World()
    stranger.take(claim(9, "other"))
    result = world.take(order(2, Action.DISABLE, stranger.of("other")))
    assert result.counts == {"no_match": 1}
    assert list(world.controls.values()) == [(False, "no_match")]


def test_narrowing_moves_it_to_the_project(world: World) -> None:
    world.take(claim(1, "Go"))
    world.take(order(1, Action.NARROW, world.of("Go"), scope="project.backend"))
    old, new = sorted(world.memories.values(), key=lambda memory: memory.version)
    assert (str(old.status), str(new.status)) == ("active", "superseded") or (
        str(old.status),
        str(new.status),
    ) == ("superseded", "active")
    (active,) = [memory for memory in world.memories.values() if str(memory.status) == "active"]
    (gone,) = [memory for memory in world.memories.values() if str(memory.status) == "superseded"]
    assert world.contents[active.id].scope == "project.backend"
    assert (active.supersedes, active.version) == (gone.id, 2)
    world.take(claim(2, "Python"))
    assert world.active() == {"Go", "Python"}
    assert world.memories[active.id].supersedes == gone.id


def test_rolling_back_a_narrowing(world: World) -> None:
    world.take(claim(1, "Go"))
    world.take(order(1, Action.NARROW, world.of("Go"), scope="project.backend"))
    (active,) = [memory for memory in world.memories.values() if str(memory.status) == "active"]
    world.take(order(2, Action.ROLLBACK, active))
    (now,) = [memory for memory in world.memories.values() if str(memory.status) == "active"]
    assert world.contents[now.id].scope == "global"


def test_rolling_back_goes_to_the_previous_active_one(world: World) -> None:
    """C10."""
    world.take(claim(1, "Vim"), claim(2, "Helix"), claim(3, "Emacs"))
    world.take(order(3, Action.ROLLBACK, world.of("Emacs")))
    assert world.active() == {"Helix"}
    assert world.history(world.of("Helix"))[-1] == (4, "active", "rolled_back")
    world.take(order(3, Action.ROLLBACK, world.of("Vim"), step=2))
    assert world.active() == {"Vim"}


def test_there_is_nothing_before_the_first(world: World) -> None:
    world.take(claim(1, "Vim"))
    assert world.take(order(1, Action.ROLLBACK, world.of("Vim"))).counts == {"no_match": 1}
    assert world.active() == {"Vim"}


def test_what_was_disabled_comes_back(world: World) -> None:
    world.take(claim(1, "Vim"))
    world.take(order(1, Action.DISABLE, world.of("Vim")))
    world.take(order(2, Action.ROLLBACK, world.of("Vim")))
    assert world.active() == {"Vim"}


def test_reverting_a_conversation(world: World) -> None:
    """What has no other source goes, what it replaced returns, a second source is enough (C14)."""
    world.take(claim(1, "Vim"), claim(2, "tea", key="drink"), claim(3, "rain", key="weather"))
    bad = {"conversation": "c2"}
    world.take(claim(4, "Helix", **bad), claim(5, "Tea", key="drink", **bad), claim(6, "cat", key="pet", **bad))
    world.take(ends(7, "rain", key="weather", **bad))
    assert world.active() == {"Helix", "tea", "cat"}
    result = world.take(order(8, Action.REVERT, conversation="c2"))
    assert result.counts == {"applied": 1}
    assert world.active() == {"Vim", "tea", "rain"}
    assert (world.status("Helix"), world.status("cat"), world.of("tea").count) == ("revoked", "revoked", 1)
    assert world.history(world.of("Vim"))[-1][1:] == ("active", "restored")
    assert world.history(world.of("Helix"))[-1][1:] == ("revoked", "reverted")


def test_reverting_a_time(world: World) -> None:
    world.take(claim(1, "Vim"), claim(10, "Helix"), claim(20, "tea", key="drink"))
    since, until = NOON + timedelta(minutes=5), NOON + timedelta(minutes=15)
    world.take(order(30, Action.REVERT, since=since, until=until))
    assert world.active() == {"Vim", "tea"}
    assert world.take(order(31, Action.REVERT, since=since, until=until)).counts == {"no_match": 1}
