"""Each kind of bad input has its word, and no word holds content."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InvalidEvent
from schemas.events import CandidateEvent, Control, Turn
from schemas.topics import CANDIDATES, DELETIONS, TURNS
from schemas.words import MemoryType, SourceType
from streams.codec import REASONS, Position, Record, decode, message, record

NOW_MS = 1_800_000_000_000
TURN = {
    "tenant": "default",
    "subject": "alice",
    "conversation": "c1",
    "message_id": "m1",
    "role": "user",
    "text": "我不喜欢香菜",
    "at": "2026-01-01T08:00:00+08:00",
}


@dataclass
class Arrived:
    """What stands for librdkafka's message."""

    body: bytes | None
    found: list[tuple[str, bytes]] | None = None
    named: str = TURNS

    def topic(self) -> str:
        return self.named

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 7

    def key(self) -> bytes:
        return b"default:alice"

    def value(self) -> bytes | None:
        return self.body

    def headers(self) -> list[tuple[str, bytes]] | None:
        return self.found

    def timestamp(self) -> tuple[int, int]:
        return 1, NOW_MS


def read(body: Any, headers: dict[str, str] | None = None, topic: str = TURNS) -> Record:
    value = body if isinstance(body, bytes | None) else orjson.dumps(body)
    found = [(name, text.encode()) for name, text in (headers or {}).items()] or None
    return record(Arrived(value, found, topic), 3)


def reason(item: Record) -> str:
    with pytest.raises(InvalidEvent) as refused:
        decode(item)
    assert refused.value.reason in REASONS
    assert str(refused.value) == refused.value.reason
    # Whoever logs it with its causes shows no content either.
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return refused.value.reason


def binary(name: str = "org.obelus.turn.v1", **more: str) -> dict[str, str]:
    return {"ce_specversion": "1.0", "ce_id": "e1", "ce_type": name, "ce_source": "test"} | more


def test_a_bare_value_on_turns_is_a_turn() -> None:
    item = read(TURN)
    assert (item.position, item.type, item.event_id) == (Position(3, 2, 7), "org.obelus.turn.v1", "")
    event = decode(item)
    assert isinstance(event, Turn)
    assert event.text == TURN["text"]


def test_binary_mode() -> None:
    item = read(TURN, binary(traceparent="00-ab-cd-01"))
    assert (item.event_id, item.traceparent) == ("e1", "00-ab-cd-01")
    assert isinstance(decode(item), Turn)


@pytest.mark.parametrize("packed", [False, True])
def test_structured_mode(packed: bool) -> None:
    data = {"data_base64": base64.b64encode(orjson.dumps(CONTROL)).decode()} if packed else {"data": CONTROL}
    envelope = {"specversion": "1.0", "id": "e", "type": "org.obelus.control.v1", "source": "x"} | data
    headers = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
    assert isinstance(decode(read(envelope, headers)), Control)


def test_our_own_messages_come_back() -> None:
    event = CandidateEvent(
        id="0" * 32, handle="1" * 32, epoch=2, type=MemoryType.FACT, source_type=SourceType.USER_STATED
    )
    sent = message(CANDIDATES, event.handle, event, event.id)
    got = record(Arrived(sent.body, [(n, str(v).encode()) for n, v in sent.headers], CANDIDATES), 1)
    assert decode(got) == event
    assert got.event_id == event.id


CONTROL = {"request_id": "r", "tenant": "t", "subject": "s", "actor": "person", "action": "pause", "at": TURN["at"]}
CONTROL_HEADERS = binary("org.obelus.control.v1")
STRUCTURED = {"content-type": "application/cloudevents+json"}
BAD: dict[str, tuple[Record, str]] = {
    "no value": (read(None), "not_json"),
    "not json": (read(b"{'text': 1"), "not_json"),
    "not utf-8": (read(b'{"tenant": "\xff"}'), "not_json"),
    "half a surrogate": (read(b'{"tenant": "\\ud800"}'), "not_json"),
    "a list": (read([1]), "invalid_field"),
    "unknown type": (read(TURN, binary("com.example.thing.v1")), "unknown_type"),
    "unknown version": (read(TURN, binary("org.obelus.turn.v9")), "unknown_version"),
    "unknown spec": (read(TURN, binary(ce_specversion="0.3")), "unknown_version"),
    "no type elsewhere": (read(TURN, topic=DELETIONS), "unknown_type"),
    "wrong topic": (read(TURN, binary("org.obelus.deletion.v1")), "wrong_topic"),
    "no tenant": (read({k: v for k, v in TURN.items() if k != "tenant"}), "missing_field"),
    "no subject": (read({k: v for k, v in TURN.items() if k != "subject"}), "missing_field"),
    "no text": (read({k: v for k, v in TURN.items() if k != "text"}), "missing_field"),
    "null text": (read(TURN | {"text": None}), "missing_field"),
    "text and segments": (read(TURN | {"segments": [{"text": "x"}]}), "invalid_field"),
    "bad role": (read(TURN | {"role": "king"}), "invalid_field"),
    "bad zone": (read(TURN | {"timezone": "Mars/Phobos"}), "invalid_field"),
    "naive time": (read(TURN | {"at": "2026-01-01T08:00:00"}), "invalid_field"),
    "star": (read(TURN | {"subject": "a*"}), "invalid_id"),
    "padded": (read(TURN | {"tenant": " a"}), "invalid_id"),
    "empty id": (read(TURN | {"message_id": ""}), "invalid_id"),
    "long id": (read(TURN | {"message_id": "m" * 129}), "invalid_id"),
    "not NFC": (read(TURN | {"subject": "e\u0301"}), "invalid_id"),
    "colon": (read(TURN | {"author": "a:b"}), "invalid_id"),
    "empty text": (read(TURN | {"text": ""}), "empty_text"),
    "blank text": (read(TURN | {"text": " \n\u3000"}), "empty_text"),
    "no segments": (read({k: v for k, v in TURN.items() if k != "text"} | {"segments": []}), "empty_text"),
    "large": (read(TURN | {"text": "x" * ((1 << 20) + 1)}), "text_too_large"),
    "large in bytes": (read(TURN | {"text": "很" * 400_000}), "text_too_large"),
    "largest": (read(TURN | {"text": "x" * (16 << 20)}), "text_too_large"),
    "epoch": (read(TURN | {"at": 1767225600}), "invalid_field"),
    "epoch in milliseconds": (read(TURN | {"at": 1767225600000.5}), "invalid_field"),
    "epoch as text": (read(TURN | {"at": "1767225600"}), "invalid_field"),
    "epoch of a control": (read(CONTROL | {"at": 1767225600}, CONTROL_HEADERS), "invalid_field"),
    "epoch of a range": (
        read(CONTROL | {"action": "revert", "since": 1, "until": 2}, CONTROL_HEADERS),
        "invalid_field",
    ),
    "future": (read(TURN | {"at": "2040-01-01T00:00:00Z"}), "future_time"),
    "before the year 1": (read(TURN | {"at": "0001-01-01T00:00:00+14:00"}), "invalid_field"),
    "structured, not json": (read(b"{", STRUCTURED), "not_json"),
    "structured, no data": (read({"specversion": "1.0", "type": "org.obelus.turn.v1"}, STRUCTURED), "missing_field"),
    "structured, a list": (read([], STRUCTURED), "invalid_field"),
    "structured, old": (read({"specversion": "0.3", "type": "x", "data": {}}, STRUCTURED), "unknown_version"),
    "structured, bad base64": (
        read({"specversion": "1.0", "type": "org.obelus.turn.v1", "data_base64": "*"}, STRUCTURED),
        "invalid_field",
    ),
    "structured, unknown": (read({"specversion": "1.0", "type": "x.v1", "data": {}}, STRUCTURED), "unknown_type"),
}


@pytest.mark.parametrize(("item", "word"), BAD.values(), ids=BAD.keys())
def test_bad_input_has_its_word(item: Record, word: str) -> None:
    assert reason(item) == word


def test_every_word_is_used() -> None:
    assert {word for _, word in BAD.values()} == set(REASONS)


def test_a_mebibyte_is_allowed_however_it_is_escaped() -> None:
    text = "\x01" * (1 << 20)
    assert isinstance(decode(read(TURN | {"text": text})), Turn)


def test_the_future_is_measured_from_the_logs_time() -> None:
    # The log took it in 2027; read in any year, this is too far ahead or not.
    assert isinstance(decode(read(TURN | {"at": "2027-01-15T00:00:00Z"})), Turn)
    assert reason(read(TURN | {"at": "2027-01-17T00:00:00Z"})) == "future_time"


@given(st.binary(), st.dictionaries(st.sampled_from(["ce_type", "content-type", "ce_specversion"]), st.text()))
def test_any_bytes_are_an_event_or_refused(body: bytes, headers: dict[str, str]) -> None:
    try:
        decode(read(body, headers))
    except InvalidEvent as error:
        assert error.reason in REASONS


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_an_event_or_refused(body: Any) -> None:
    try:
        decode(read(orjson.dumps(body, option=orjson.OPT_PASSTHROUGH_SUBCLASS, default=str)))
    except InvalidEvent as error:
        assert error.reason in REASONS
    except orjson.JSONEncodeError:
        pass
