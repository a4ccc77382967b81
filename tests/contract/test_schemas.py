"""Events are a contract: generated files match the models, old events still parse, breaking changes are refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.compatibility import breaking
from schemas.events import EVENT_TYPES
from schemas.export import FOLDER, json_schemas, rendered
from schemas.topics import TOPICS

GOLDEN = Path(__file__).parent / "golden"
Schema = dict[str, Any]


@pytest.mark.parametrize("name", sorted(rendered()))
def test_generated_files_are_checked_in(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == rendered()[name], "run: python -m schemas.export"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.event.json")), ids=lambda p: p.stem)
def test_golden_events_still_parse(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    event = EVENT_TYPES[golden["type"]].model_validate(golden["body"])
    assert event.model_dump(mode="json", exclude_unset=True) == golden["parsed"]


def test_every_event_type_has_a_golden_event() -> None:
    kept = {json.loads(path.read_text(encoding="utf-8"))["type"] for path in GOLDEN.glob("*.event.json")}
    assert kept == set(EVENT_TYPES)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.schema.json")), ids=lambda p: p.stem)
def test_schemas_are_compatible_with_the_golden_ones(path: Path) -> None:
    name = path.name.removesuffix(".schema.json")
    assert breaking(json.loads(path.read_text(encoding="utf-8")), json_schemas()[name]) == []


def test_every_event_type_has_a_golden_schema() -> None:
    assert {path.name.removesuffix(".schema.json") for path in GOLDEN.glob("*.schema.json")} == set(EVENT_TYPES)


def _rename(schema: Schema) -> None:
    schema["properties"]["conversation_id"] = schema["properties"].pop("conversation")


def _require(schema: Schema) -> None:
    schema["required"].append("timezone")


def _retype(schema: Schema) -> None:
    schema["properties"]["revision"] = {"type": "string"}


def _drop_a_word(schema: Schema) -> None:
    schema["$defs"]["Role"]["enum"].remove("tool")


def _refuse_unknown(schema: Schema) -> None:
    schema["additionalProperties"] = False


def _shorten(schema: Schema) -> None:
    schema["properties"]["revision"]["maximum"] = 10


PLANTED: list[tuple[Callable[[Schema], None], str]] = [
    (_rename, "conversation: removed or renamed"),
    (_require, "timezone: newly required"),
    (_retype, "revision: no longer takes integer"),
    (_drop_a_word, "role: words removed ['tool']"),
    (_refuse_unknown, "event : unknown fields newly refused"),
    (_shorten, "revision: maximum narrowed"),
]


@pytest.mark.parametrize(("plant", "complaint"), PLANTED, ids=lambda v: getattr(v, "__name__", ""))
def test_planted_breaking_changes_are_refused(plant: Callable[[Schema], None], complaint: str) -> None:
    old = json_schemas()["org.obelus.turn.v1"]
    new = copy.deepcopy(old)
    plant(new)
    assert complaint in breaking(old, new)


def test_an_added_optional_field_and_word_are_no_break() -> None:
    old = json_schemas()["org.obelus.turn.v1"]
    new = copy.deepcopy(old)
    new["properties"]["channel"] = {"type": "string"}
    new["$defs"]["Role"]["enum"].append("observer")
    assert breaking(old, new) == []


CONTENT_FIELDS = {
    "text",
    "segments",
    "value",
    "quote",
    "key",
    "subject",
    "tenant",
    "author",
    "conversation",
    "message_id",
}


def test_our_own_topics_carry_no_content_and_no_natural_id() -> None:
    for topic in (t for t in TOPICS if not t.inbound):
        for event in topic.events:
            assert not CONTENT_FIELDS & set(EVENT_TYPES[event].model_fields), event
