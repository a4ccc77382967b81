from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.lines import CONTROL, TURN, Lines
from schemas.errors import Refused
from streams.codec import Message

LINE = {"conversation": "c", "user": "ana", "role": "user", "text": "hi", "at": "2026-01-01T00:00:00Z"}


def converted(*lines: dict[str, Any], tenant: str = "default") -> list[Message]:
    return list(Lines(tenant).messages(json.dumps(line).encode() for line in lines))


def ids(*lines: dict[str, Any]) -> list[str]:
    return [message.event_id for message in converted(*lines)]


def test_the_simple_form() -> None:
    (found,) = converted(LINE, tenant="acme")
    assert (found.key, found.type) == ("acme:ana", TURN)
    body = json.loads(found.body)
    assert (body["tenant"], body["subject"], body["text"]) == ("acme", "ana", "hi")
    assert body["message_id"] == found.event_id


def test_derived_ids_are_stable_and_inserting_a_line_renames_nothing() -> None:
    other = LINE | {"text": "well"}
    before, after = ids(LINE, LINE, other), ids(other | {"text": "new"}, LINE, LINE, other)
    assert after[1:] == before
    assert len(set(before)) == 3


def test_equal_words_of_other_conversations_people_and_roles_have_other_ids() -> None:
    lines = [LINE, LINE | {"conversation": "d"}, LINE | {"user": "bo"}, LINE | {"role": "assistant"}]
    assert len(set(ids(*lines))) == 4


def test_a_given_message_id_is_kept() -> None:
    assert ids(LINE | {"message_id": "m1"}) == ["m1"]


def test_native_events_pass_as_they_are() -> None:
    turn = {"tenant": "t", "subject": "ana", "message_id": "m", "text": "", "unknown": 1}
    pause = {"tenant": "t", "subject": "ana", "request_id": "r", "action": "pause"}
    first, second = converted(turn, pause)
    assert (first.type, json.loads(first.body)) == (TURN, turn)
    assert (second.type, second.event_id, second.key) == (CONTROL, "r", "t:ana")


@pytest.mark.parametrize(
    "line", [b"not json", b"[1]", b'{"user":"ana"}', b'{"subject":"ana"}', b'{"user":"a b","text":"x"}']
)
def test_a_bad_line_is_named_by_its_number(line: bytes) -> None:
    with pytest.raises(Refused, match="line 3"):
        list(Lines().messages([json.dumps(LINE).encode(), b"", line]))
