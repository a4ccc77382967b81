"""Outside owners: what narrow selectors, edits and exports mean for what they have made."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from consumers.purger.dryrun import as_requested
from recall.export import export
from schemas.events import Selector
from schemas.settings import Settings
from schemas.words import SelectorKind
from stores.database import connect
from streams.topics import apply
from tests.integration.driven import turn
from tests.integration.outside import Owners, edges
from tests.integration.test_resolver import Line

pytestmark = pytest.mark.integration


@pytest.fixture
def pipeline(fresh_settings: Settings) -> Iterator[tuple[Owners, Line]]:
    """Rows as extractor, gate and resolver make them: a narrow selector opens them."""
    line = Line(fresh_settings)
    apply(fresh_settings)
    found = Owners(fresh_settings.model_copy(update={"turns_log": "shared"}))
    found.tenant = "acme"
    found.parts.index.ensure(384)
    yield found, line
    found.close()
    line.close()


def test_a_narrow_selector_orders_what_came_from_its_items_alone(pipeline: tuple[Owners, Line]) -> None:
    owners, line = pipeline
    line.say(turn("Please remember that my favourite editor is Vim.", "m1"))
    line.say(turn("My favourite tea is Oolong.", "m2"))
    by_value = {memory.content.value: {"memory": memory.id} for memory in line.memories()}
    one, two = by_value["Vim"], by_value["Oolong"]
    owners.register("s-one", one)
    owners.register("s-turn", {"subject": "ann", "message_id": "m1"})
    owners.register("s-both", one, two)
    owners.register("s-two", two)
    counts, _ = as_requested(owners.settings, "acme", Selector(kind=SelectorKind.MESSAGE, subject="ann", message="m1"))
    assert (counts["owners.artefacts"], counts["postgres.derivations"]) == (3, 3)
    erasure = owners.forget("ann", SelectorKind.MESSAGE, message="m1")
    owners.advance(erasure)
    erase, again = owners.told()
    assert (erase["action"], owners.names(erase)) == ("erase", ["s-one", "s-turn"])
    assert (again["action"], owners.names(again)) == ("recompute", ["s-both"])
    assert edges(owners) == 2
    owners.register("s-late", one)
    owners.register("s-late-turn", {"subject": "ann", "message": "m1"})
    owners.advance(erasure)
    [late] = owners.told()
    assert (late["action"], owners.names(late)) == ("erase", ["s-late", "s-late-turn"])


def asked_by_nobody(owners: Owners) -> list[bytes]:
    """Erasures that the purger writes by itself, taken as far as they go."""
    conn = owners.parts.observing()
    with conn.transaction():
        owners.purger.tick(conn)
    found = [row[0] for row in conn.execute("SELECT id FROM erasures ORDER BY requested_at, id").fetchall()]
    fresh = [erasure for erasure in found if erasure.hex() not in owners.erasures]
    owners.erasures |= {erasure.hex() for erasure in fresh}
    for erasure in fresh:
        for _ in range(50):
            if owners.advance(erasure) in ("verified", "final"):
                break
            time.sleep(0.1)
    return fresh


def test_an_edit_orders_what_came_from_the_older_text(pipeline: tuple[Owners, Line]) -> None:
    """W1, D8: the memory goes with its only source, and the message's name is the new text's from then on."""
    owners, line = pipeline
    line.say(turn("Please remember that my favourite editor is Vim.", "m1"))
    line.say(turn("My favourite tea is Oolong.", "m2"))
    by_value = {memory.content.value: {"memory": memory.id} for memory in line.memories()}
    message = {"subject": "ann", "message_id": "m1"}
    owners.register("s-memory", by_value["Vim"])
    owners.register("s-both", by_value["Vim"], by_value["Oolong"])
    owners.register("s-message", message)
    owners.register("s-other", by_value["Oolong"])
    assert asked_by_nobody(owners) == []

    line.say(turn("Please remember that my favourite editor is Helix.", "m1", revision=1))
    [of_the_message] = asked_by_nobody(owners)
    [order] = owners.told()
    assert (order["action"], owners.names(order)) == ("erase", ["s-message"])
    line.tick()
    assert {memory.content.value for memory in line.memories()} == {"Helix", "Oolong"}
    [of_the_memory] = asked_by_nobody(owners)
    erase, again = owners.told()
    assert (erase["action"], owners.names(erase)) == ("erase", ["s-memory"])
    assert (again["action"], owners.names(again)) == ("recompute", ["s-both"])
    assert owners.line(of_the_memory) == ("external", "owner_silent")
    for asked in (order, erase, again):
        assert owners.answer(asked) is None
    for erasure in (of_the_message, of_the_memory):
        owners.advance(erasure)
        assert owners.line(erasure) == ("erased", None)
    assert asked_by_nobody(owners) == [] and owners.told() == []

    # Made from the new text: nobody's business until that is edited too.
    owners.register("s-message", message)
    assert not owners.last.dead_letters and asked_by_nobody(owners) == []
    owners.advance(of_the_message)
    assert owners.told() == [] and edges(owners) == 3
    # Made from what is gone, and told too late: the erasure that is there orders it.
    owners.register("s-late", by_value["Vim"])
    owners.advance(of_the_memory)
    [late] = owners.told()
    assert (late["action"], owners.names(late)) == ("erase", ["s-late"])


def test_what_is_made_from_a_withdrawn_memory_that_nobody_knew_of_is_ordered(pipeline: tuple[Owners, Line]) -> None:
    owners, line = pipeline
    line.say(turn("Please remember that my favourite editor is Vim.", "m1"))
    [memory] = line.memories()
    line.say(turn("Good morning.", "m1", revision=1))
    line.tick()
    assert line.memories() == [] and asked_by_nobody(owners) == []
    owners.register("s-late", {"memory": memory.id})
    assert len(asked_by_nobody(owners)) == 1
    [order] = owners.told()
    assert (order["action"], owners.names(order)) == ("erase", ["s-late"])


def test_an_export_lists_and_counts_what_was_made(pipeline: tuple[Owners, Line]) -> None:
    """U2, D12: with its owner and its parents; after an erasure as long as its owner has not answered."""
    owners, line = pipeline

    def exported(subject: str = "ann") -> list[dict[str, Any]]:
        with connect(owners.settings.database) as conn:
            found = export(conn, owners.parts.vault, "acme", subject)
        assert found["manifest"]["artefacts"] == len(found["artefacts"])
        return found["artefacts"]

    assert exported() == exported("nobody") == []
    line.say(turn("Please remember that my favourite editor is Vim.", "m1"), turn("Good morning.", "m2", subject="bo"))
    [memory] = line.memories()
    owners.register("s-memory", {"memory": memory.id})
    owners.register("s-both", {"memory": memory.id}, {"subject": "bo", "message": "m2"}, owner="skills")
    mine = exported()
    shown = [(one["owner"], one["artefact"], one["kind"], one["parents"], one["ordered"]) for one in mine]
    from_memory = [{"memory": memory.id}]
    assert shown == [
        ("evals", "s-memory", "sample", from_memory, None),
        ("skills", "s-both", "sample", from_memory, None),
    ]
    [theirs] = exported("bo")
    assert theirs["artefact"] == "s-both" and [list(parent) for parent in theirs["parents"]] == [["turn"]]

    erasure = owners.forget("ann", SelectorKind.MEMORY, id=memory.id)
    owners.advance(erasure)
    erase, again = owners.told()
    assert [(one["artefact"], one["parents"], one["ordered"]) for one in exported()] == [
        ("s-memory", [], "erase, open"),
        ("s-both", [], "recompute, open"),
    ]
    assert owners.answer(erase) is None
    assert [one["artefact"] for one in exported()] == ["s-both"]
    assert owners.answer(again) is None
    assert exported() == [] and [one["artefact"] for one in exported("bo")] == ["s-both"]


def test_of_a_person_who_was_erased_meanwhile_nothing_is_ordered_twice(pipeline: tuple[Owners, Line]) -> None:
    owners, line = pipeline
    line.say(turn("Please remember that my favourite editor is Vim.", "m1"))
    [memory] = line.memories()
    owners.register("s1", {"memory": memory.id})
    line.say(turn("Good morning.", "m1", revision=1))
    line.tick()
    erasure = owners.forget("ann")
    owners.advance(erasure)
    [order] = owners.told()
    assert owners.names(order) == ["s1"] and asked_by_nobody(owners) == [] and owners.told() == []


def test_a_persons_words_in_a_group_take_what_came_from_them(pipeline: tuple[Owners, Line]) -> None:
    """D11, W11: the group's memory goes with its author, the artefact made from it too."""
    owners, line = pipeline
    line.say(turn("Please remember that my favourite editor is Vim.", "m1", subject="club", author="bea"))
    [memory] = line.memories()
    owners.register("s-group", {"memory": memory.id})
    erasure = owners.forget("bea")
    owners.advance(erasure)
    [order] = owners.told()
    assert (order["action"], owners.names(order)) == ("erase", ["s-group"])
