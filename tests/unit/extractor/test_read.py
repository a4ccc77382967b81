"""Records become screened items; nothing unscreened gets past (P4, P10, W7, W11)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from consumers.extractor import screened
from consumers.extractor.model import Heard, Order
from consumers.extractor.read import Reader
from schemas.errors import TransientError
from schemas.words import Action, SourceType
from stores.sealing import Lookup
from streams.codec import Position, Record

SECRET = "sk-live-9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c"
TURN = {
    "tenant": "acme",
    "subject": "ann",
    "conversation": "c1",
    "message_id": "m1",
    "role": "user",
    "text": "Please remember that I prefer tea.",
    "at": "2026-03-01T20:00:00+08:00",
}
CONTROL = {
    "tenant": "acme",
    "subject": "ann",
    "request_id": "r1",
    "actor": "person",
    "at": "2026-03-01T12:00:00Z",
}


class Lookups:
    """The one thing that reading asks of the vault."""

    def lookup(self, tenant: str, create: bool = False) -> Lookup:
        assert create
        return Lookup(tenant.encode().ljust(16), tenant.encode() * 8)


def record(body: dict[str, Any], kind: str = "turn", pos: int = 0) -> Record:
    at = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp() * 1000)
    return Record(Position(1, 0, pos), "memory.turns", f"org.obelus.{kind}.v1", "", "k", orjson.dumps(body), at)


def read(*records: Record) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    reader = Reader(Lookups())  # type: ignore[arg-type]
    events, dead = reader.decode(records)
    return reader.read(events), dead


def heard(**changes: Any) -> Heard:
    body = {name: item for name, item in (TURN | changes).items() if item is not None}
    (item,), dead = read(record(body))
    assert not dead
    return item  # type: ignore[no-any-return]


def test_times_are_utc_and_refs_are_per_tenant() -> None:
    turn = heard()
    assert turn.at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert turn.at.tzinfo is UTC
    other = heard(tenant="other")
    for name in ("subject", "consent", "tombstone"):
        assert getattr(turn, name) != getattr(other, name)
        assert len(getattr(turn, name)) == 16


def test_an_author_who_is_the_subject_is_no_other_person() -> None:
    assert heard(author="ann").author == heard().author == heard().subject
    assert heard(author="ann").said == heard().said
    other = heard(author="bob")
    assert other.author != other.subject
    assert other.said != heard().said
    assert orjson.loads(other.body)["author"] == "bob"


@pytest.mark.parametrize(
    "changes",
    [
        {"text": f"my key is {SECRET}"},
        {"text": None, "segments": [{"text": "look"}, {"text": f"key: {SECRET}", "origin": "pasted"}]},
        {"metadata": {"page": {"note": f"api key {SECRET}"}}},
    ],
    ids=["text", "segment", "metadata"],
)
def test_secrets_are_gone_from_everything(changes: dict[str, Any]) -> None:
    turn = heard(**changes)
    assert turn.kinds
    assert SECRET not in repr(turn)


def test_what_tells_messages_apart_holds_no_secret() -> None:
    one, two = (heard(text=f"my key is sk-live-{digit * 32}") for digit in "ab")
    assert one.said == two.said


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_the_person_speaks_for_the_person(role: str) -> None:
    assert heard().drafts
    assert not heard(role=role).drafts


def test_order_is_that_of_the_log() -> None:
    items, dead = read(record(TURN, pos=3), record({}, pos=2), record({**CONTROL, "action": "pause"}, "control", pos=1))
    assert [item.position.pos for item in items] == [1, 3]
    assert [(letter.position.pos, letter.reason) for letter in dead] == [(2, "missing_field")]


@pytest.mark.parametrize("broken", ["screen", "screen_object"])
def test_where_screening_fails_nothing_passes(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(given: object) -> None:
        raise ValueError(str(given))

    monkeypatch.setattr(screened, broken, fails)
    with pytest.raises(TransientError) as caught:
        heard(metadata={"a": "tea"})
    assert "tea" not in str(caught.value)
    assert caught.value.__suppress_context__


def order(action: str, **fields: Any) -> Order:
    (item,), dead = read(record({**CONTROL, "action": action, **fields}, "control"))
    assert not dead
    return item  # type: ignore[no-any-return]


MEMORY = "ab" * 16


@pytest.mark.parametrize(
    ("action", "fields", "expected"),
    [
        ("confirm", {"memory": MEMORY}, {"target": MEMORY}),
        ("decline", {"memory": MEMORY}, {"target": MEMORY}),
        ("disable", {"memory": MEMORY}, {"target": MEMORY}),
        ("rollback", {"memory": MEMORY}, {"target": MEMORY}),
        ("correct", {"memory": MEMORY, "value": "green tea"}, {"target": MEMORY, "value": "green tea"}),
        ("narrow", {"memory": MEMORY, "scope": "work.shop"}, {"target": MEMORY, "scope": "work.shop"}),
        ("revert", {"conversation": "c1"}, {"key": "c1", "target": None}),
        ("revert", {"since": "2026-03-01T11:00:00Z"}, {"valid_from": datetime(2026, 3, 1, 11, tzinfo=UTC)}),
    ],
)
def test_orders_as_drafts(action: str, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    draft = order(action, **fields).draft
    assert draft is not None
    assert draft.action is Action(action)
    assert draft.source_type is SourceType.USER_CONFIRMED
    for name, wanted in expected.items():
        assert getattr(draft if hasattr(draft, name) else draft.content, name) == wanted


@pytest.mark.parametrize("action", ["pause", "resume", "off", "on"])
def test_consent_is_no_candidate(action: str) -> None:
    assert order(action).draft is None
    assert order(action).consent is None
    assert order(action, conversation="c1").consent == heard().consent


def test_the_value_of_a_correction_is_screened() -> None:
    item = order("correct", memory=MEMORY, value=f"my key is {SECRET}")
    assert item.kinds
    assert SECRET not in repr(item)
