"""What becomes of turns and controls (W1, P7, D3, U2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.deadletters import DeadLetter
from consumers.extractor import decide as rules
from consumers.extractor.model import Item, Ready, Remembered
from schemas.words import Action, Consent
from streams.codec import Position
from tests.unit.extractor.books import NOON, Books, books, draft, heard, named, order, person


def outcomes(*items: Item, people: Books | None = None) -> dict[str, int]:
    return dict((people or books()).take(*items).counts)


def test_a_turn_is_stored_with_its_candidates() -> None:
    result = books().take(heard(1, drafts=2, kinds=("secret:token",)))
    assert result.counts == {"stored": 1}
    (turn,) = result.turns.values()
    assert [row.turn for row in result.candidates.values()] == [turn.id, turn.id]
    assert [kind for _, kind, _ in result.kinds] == ["secret:token"]


@pytest.mark.parametrize(
    ("first", "second", "expected", "dead"),
    [
        pytest.param({}, {}, {"stored": 1, "duplicate": 1}, [], id="again"),
        pytest.param({}, {"text": "milk"}, {"stored": 1}, ["id_conflict"], id="other text"),
        pytest.param({}, {"text": "milk", "revision": 1}, {"stored": 2}, [], id="edited"),
        pytest.param({"revision": 1}, {"text": "milk"}, {"stored": 1}, ["id_conflict"], id="older edit"),
        pytest.param({}, {"revision": 1}, {"stored": 1, "duplicate": 1}, [], id="edited to the same"),
        pytest.param({}, {"message": "m2"}, {"stored": 2}, [], id="another message"),
        pytest.param({}, {"subject": "bob"}, {"stored": 2}, [], id="another person's message of that id"),
        pytest.param({}, {"kinds": ("x",)}, {"stored": 1, "duplicate": 1}, [], id="again with a finding"),
    ],
)
@pytest.mark.parametrize("together", [True, False], ids=["one batch", "two batches"])
def test_a_message_id_is_stored_once(
    first: dict[str, object], second: dict[str, object], expected: dict[str, int], dead: list[str], together: bool
) -> None:
    own = books()
    one, two = heard(1, **first), heard(2, **second)  # type: ignore[arg-type]
    results = [own.take(one, two)] if together else [own.take(one), own.take(two)]
    counts = sum((result.counts for result in results), results[0].counts.__class__())
    assert counts == expected
    assert [letter.reason for result in results for letter in result.dead_letters] == dead


def test_an_edit_takes_the_older_texts_candidates_with_it() -> None:
    together, apart = books(), books()
    together.take(heard(1, drafts=3), heard(2, text="milk", revision=1))
    apart.take(heard(1, drafts=3))
    apart.take(heard(2, text="milk", revision=1))
    assert together == apart
    assert len(together.candidates) == 1


def test_a_pause_before_a_sentence_wins() -> None:
    own = books()
    result = own.take(heard(1), order(2, Action.PAUSE), heard(3, "m2"), order(4, Action.RESUME), heard(5, "m3"))
    assert result.counts == {"stored": 4, "not_permitted": 1}
    assert [row.heard.message_id for row in result.turns.values()] == ["m1", "m3"]
    assert own.people[named("ann")].consent is Consent.ON
    # Final: it is not made good by the resumption.
    assert own.take(heard(6, "m2")).counts == {"not_permitted": 1}


@pytest.mark.parametrize("silenced", ["subject", "author", "conversation", "tenant"])
def test_everybody_must_have_consented(silenced: str) -> None:
    off = {"consent": Consent.OFF}
    rows = [
        person("room", **(off if silenced == "subject" else {})),
        person("ann", **(off if silenced == "author" else {})),
    ]
    if silenced == "tenant":
        rows = [replace(row, tenant_consent=Consent.PAUSED) for row in rows]
    own = books(*rows)
    if silenced == "conversation":
        own.take(order(0, Action.PAUSE, subject="room", conversation="c1"))
    turn = heard(1, subject="room", author="ann")
    assert outcomes(turn, people=own) == {"not_permitted": 1}
    if silenced == "conversation":
        assert outcomes(heard(2, "m2", subject="room", author="ann", conversation="c2"), people=own) == {"stored": 1}


@pytest.mark.parametrize(
    ("actions", "consent"),
    [
        ([Action.PAUSE], Consent.PAUSED),
        ([Action.PAUSE, Action.RESUME], Consent.ON),
        ([Action.OFF], Consent.OFF),
        ([Action.OFF, Action.RESUME], Consent.OFF),
        ([Action.OFF, Action.ON], Consent.ON),
        ([Action.PAUSE, Action.OFF], Consent.OFF),
        ([Action.RESUME], Consent.ON),
    ],
)
def test_consent_after_orders(actions: list[Action], consent: Consent) -> None:
    own = books()
    own.take(*(order(number, action) for number, action in enumerate(actions)))
    assert own.people[named("ann")].consent is consent


def test_an_order_is_carried_out_once() -> None:
    own = books()
    own.take(order(1, Action.PAUSE, "same"), order(2, Action.ON), order(3, Action.PAUSE, "same"))
    assert own.people[named("ann")].consent is Consent.ON
    assert own.take(order(4, Action.PAUSE, "same")).counts == {"duplicate": 1}


def test_other_orders_become_candidates() -> None:
    result = books().take(order(1, Action.DECLINE))
    (row,) = result.candidates.values()
    assert row.control is not None
    assert row.turn is None
    assert result.orders[0].outcome is None


@pytest.mark.parametrize(
    ("action", "heard_all_the_same"), [(Action.DECLINE, True), (Action.CORRECT, False), (Action.CONFIRM, False)]
)
def test_what_takes_back_is_heard_while_paused(action: Action, heard_all_the_same: bool) -> None:
    own = books()
    result = own.take(order(1, Action.PAUSE), order(2, action))
    assert bool(result.candidates) is heard_all_the_same
    assert result.orders[-1].outcome == (None if heard_all_the_same else "not_permitted")


FENCED = {"fence": {(1, 0): 10}, "fenced_at": NOON, "handle": None}


@pytest.mark.parametrize(
    ("pos", "part", "minutes", "erased"),
    [
        pytest.param(9, 0, 5, True, id="before the fence"),
        pytest.param(10, 0, 5, False, id="at the fence"),
        pytest.param(11, 0, -1, True, id="said before the request"),
        pytest.param(3, 1, 5, False, id="a partition that is not in the fence"),
    ],
)
@pytest.mark.parametrize("who", ["subject", "author"])
def test_what_lies_before_an_erasure_stays_erased(pos: int, part: int, minutes: int, erased: bool, who: str) -> None:
    alive = {} if erased else {"handle": named("new")}
    own = books(person("ann", **{**FENCED, **alive}), person("room"))
    people = {"subject": "ann"} if who == "subject" else {"subject": "room", "author": "ann"}
    turn = heard(pos, part=part, at=NOON + timedelta(minutes=minutes), **people)  # type: ignore[arg-type]
    result = own.take(turn)
    assert result.counts == ({"erased_source": 1} if erased else {"stored": 1})
    if erased:
        assert not (result.turns or result.candidates or result.refusals or result.kinds)


def test_an_order_before_an_erasure_is_erased_too() -> None:
    own = books(person("ann", **FENCED))
    assert outcomes(order(4, Action.PAUSE), people=own) == {"erased_source": 1}
    assert own.people[named("ann")].consent is Consent.ON


def test_a_tombstone_is_recognised() -> None:
    own = books()
    turns = heard(1), heard(2, "m2")
    result = rules.decide(Ready(turns), replace(own.state(*turns), tombstones={named("tm1")}))
    assert result.counts == {"erased_source": 1, "stored": 1}


def test_dead_letters_of_preparation_are_kept() -> None:
    letter = DeadLetter(Position(1, 0, 7), "not_json")
    assert rules.decide(Ready((), (letter,)), books().state()).dead_letters == [letter]


def test_a_conversation_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "recall_turn", lambda body, role, at: (draft("one"), draft("two")))
    own = books()
    first = own.take(heard(1, drafts=1), heard(2, "m2", drafts=0))
    stored = list(first.turns.values())
    turns = [Remembered(row.id, 0, row.keys.seal(row.id, b"{}"), "user", NOON) for row in stored]
    place = (stored[0].keys.handle, stored[0].conversation)
    asked = order(3, Action.PRE_COMPRESS, conversation="c1")
    state = replace(own.state(asked), remembered={place: turns}, proposed=set(own.candidates))
    result = rules.decide(Ready((asked,)), state)
    # What was proposed the first time keeps its id and is not proposed again.
    assert len(result.candidates) == 3
    assert {row.position for row in result.candidates.values()} == {asked.position}
    again = replace(state, proposed=set(own.candidates) | result.candidates.keys())
    assert not rules.decide(Ready((asked,)), again).candidates


TURNS = st.builds(
    lambda message, text, revision, who, conversation: (
        "turn", {"message": message, "text": text, "revision": revision, "conversation": conversation, **who},
    ),
    st.sampled_from(["m1", "m2"]),
    st.sampled_from(["tea", "milk"]),
    st.integers(0, 2),
    st.sampled_from([{"subject": "ann"}, {"subject": "room", "author": "ann"}, {"subject": "room", "author": "bob"}]),
    st.sampled_from(["c1", "c2"]),
)  # fmt: skip
ORDERS = st.builds(
    lambda action, request, subject, conversation: (
        "order", {"action": action, "request": request, "subject": subject, "conversation": conversation},
    ),
    st.sampled_from([Action.PAUSE, Action.RESUME, Action.OFF, Action.ON, Action.DECLINE, Action.CORRECT]),
    st.sampled_from(["", "", "r"]),
    st.sampled_from(["ann", "bob", "room"]),
    st.sampled_from([None, None, "c1"]),
)  # fmt: skip
FENCE = st.integers(0, 6).map(lambda offset: {"fence": {(1, 0): offset}})


def items_of(log: list[tuple[str, dict[str, object]]]) -> list[Item]:
    make = {"turn": heard, "order": order}
    return [make[kind](pos, **fields) for pos, (kind, fields) in enumerate(log)]  # type: ignore[operator]


def test_a_record_before_the_stored_text_is_history() -> None:
    """The second says the same under a higher revision, so that the third is an edit of the first."""
    own = books()
    log = heard(1), heard(2, revision=2), heard(3, text="milk", revision=1)
    own.take(*log)
    once = dict(own.turns), set(own.dead)
    assert own.take(*log).counts == {"duplicate": 3}
    assert (own.turns, own.dead) == once


@settings(max_examples=400, deadline=None)
@given(
    log=st.lists(st.one_of(TURNS, TURNS, ORDERS), min_size=1, max_size=14),
    fence=st.one_of(st.just({}), FENCE),
    walk=st.lists(st.tuples(st.integers(0, 14), st.integers(1, 6)), max_size=8),
)
def test_batches_and_replays_do_not_matter(
    log: list[tuple[str, dict[str, object]]], fence: dict[str, object], walk: list[tuple[int, int]]
) -> None:
    """However the log is cut, and from wherever it is read again, the end is the same."""
    items = items_of(log)
    people = (person("ann", **fence), person("bob"), person("room"))
    straight, wandering = books(*people), books(*people)
    for item in items:
        straight.take(item)
    done = 0
    for back, size in walk:
        start = min(back, done)
        wandering.take(*items[start : start + size])
        done = max(done, min(start + size, len(items)))
    wandering.take(*items[done:])
    wandering.take(*items)
    assert wandering == straight
