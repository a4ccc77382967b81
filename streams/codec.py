"""Records as they lie in the log, and the events in them.

Three forms are understood: CloudEvents 1.0 in binary mode (headers), in structured mode (one JSON
document), and on ``memory.turns`` a bare JSON value. What cannot be understood is refused with one
fixed word, which says nothing of the content:

    not_json         the bytes are no JSON, or no UTF-8, or there are none
    unknown_type     no event of ours has this type
    unknown_version  the type is ours, this version of it is not
    wrong_topic      a type that does not belong on this topic
    missing_field    something required is absent
    invalid_id       an id outside the grammar
    invalid_field    any other field that is not what it should be
    text_too_large   over 1 MiB of text
    empty_text       nothing said
    future_time      dated more than 24 hours after the log took it
"""

from __future__ import annotations

import base64
import binascii
import time
from typing import Any, NamedTuple, Protocol

import orjson
from pydantic import BaseModel, ValidationError

from schemas.errors import InvalidEvent
from schemas.events import EVENT_TYPES, MAX_FUTURE_HOURS, MAX_TEXT_BYTES, Event, Turn
from schemas.topics import TOPICS, TURNS

REASONS = (
    "not_json",
    "unknown_type",
    "unknown_version",
    "wrong_topic",
    "missing_field",
    "invalid_id",
    "invalid_field",
    "text_too_large",
    "empty_text",
    "future_time",
)
SOURCE = "urn:obelus"
TURN = "org.obelus.turn.v1"
STRUCTURED = "application/cloudevents+json"
MARKER = "org.obelus.marker.v1"
"""Type of a roll marker (`streams.marker`): no event, no content; whoever reads an inbound log passes over it."""
MARKER_BODY = b"{}"
MAX_VALUE_BYTES = 8 * MAX_TEXT_BYTES
"""JSON escapes make a character of text at most six times as long; what is longer than that and
some metadata is refused unread, so that a 16 MiB record costs no parsing."""

_FUTURE_MS = MAX_FUTURE_HOURS * 3_600_000
_MODELS = {(topic.name, name): EVENT_TYPES[name] for topic in TOPICS for name in topic.events}
_DATED = frozenset(model for model in EVENT_TYPES.values() if "at" in model.model_fields)
_NAMES = frozenset(name.rpartition(".")[0] for name in EVENT_TYPES)


class Position(NamedTuple):
    """A place in a log: number of the log (table ``logs``), partition, offset."""

    log: int
    part: int
    pos: int


class Record(NamedTuple):
    """One record as it was read.

    Attributes:
        position: where it lies.
        topic: the topic's name.
        type: its CloudEvents type; empty where it is inside the value (structured mode).
        event_id: its CloudEvents id, or the empty string.
        key: the record's key as text.
        value: the value's bytes; none is empty.
        timestamp_ms: the log's time, milliseconds since 1970.
        traceparent: W3C trace context, if any.
    """

    position: Position
    topic: str
    type: str
    event_id: str
    key: str
    value: bytes
    timestamp_ms: int
    traceparent: str | None = None


class Message(NamedTuple):
    """One record to be written. ``body`` is the event's JSON."""

    topic: str
    key: str
    type: str
    event_id: str
    body: bytes
    traceparent: str | None = None

    @property
    def headers(self) -> list[tuple[str, str | bytes | None]]:
        """Its attributes in CloudEvents' binary mode."""
        headers: list[tuple[str, str | bytes | None]] = [
            ("ce_specversion", "1.0"),
            ("ce_id", self.event_id),
            ("ce_type", self.type),
            ("ce_source", SOURCE),
            ("content-type", "application/json"),
        ]
        if self.traceparent:
            headers.append(("traceparent", self.traceparent))
        return headers


class Arrived(Protocol):
    """What is used of a record that a client hands over."""

    def topic(self) -> str | None:
        """Its topic."""

    def partition(self) -> int | None:
        """Its partition."""

    def offset(self) -> int | None:
        """Its offset."""

    def key(self) -> Any:
        """Its key's bytes, or None."""

    def value(self) -> Any:
        """Its value's bytes, or None."""

    def headers(self) -> Any:
        """Pairs of name and bytes, or None."""

    def timestamp(self) -> tuple[int, int]:
        """Kind of time and milliseconds."""
        ...


_TYPE_NAMES = {model: name for name, model in EVENT_TYPES.items()}


def message(topic: str, key: str, event: Event, event_id: str) -> Message:
    """Make the record of an event."""
    body = event.model_dump_json(exclude_none=True).encode()
    return Message(topic, key, _TYPE_NAMES[type(event)], event_id, body)


def record(arrived: Arrived, log: int) -> Record:
    """Take over what librdkafka read; never fails, whatever the bytes are."""
    headers = headers_of(arrived.headers())
    topic = arrived.topic() or ""
    if "ce_type" in headers:
        name = headers["ce_type"] if headers.get("ce_specversion", "1.0") == "1.0" else "?.v?"
    elif headers.get("content-type", "").startswith(STRUCTURED):
        name = ""
    else:
        name = TURN if topic == TURNS else "?"
    return Record(
        Position(log, arrived.partition() or 0, arrived.offset() or 0),
        topic,
        name,
        headers.get("ce_id", ""),
        (arrived.key() or b"").decode("utf-8", "replace"),
        arrived.value() or b"",
        arrived.timestamp()[1],
        headers.get("traceparent"),
    )


def is_marker(record: Record) -> bool:
    """Tell a roll marker; one that says something is none, and is refused like any unknown type."""
    return record.type == MARKER and record.value == MARKER_BODY


def headers_of(found: Any) -> dict[str, str]:
    """Give a record's headers as text, names in small letters; of one that comes twice the last."""
    if not found:
        return {}
    return {name.lower(): (value or b"").decode("utf-8", "replace") for name, value in found}


def decode(record: Record) -> Event:
    """Read the event.

    Raises:
        InvalidEvent: it is none; ``reason`` is one word of the list above.
    """
    if len(record.value) > MAX_VALUE_BYTES:
        raise InvalidEvent("text_too_large")
    name, body = (record.type, record.value) if record.type else _unwrap(record.value)
    model = _MODELS.get((record.topic, name)) or _refuse_type(name)
    try:
        event = model.model_validate_json(body)
    except ValidationError as error:
        raise InvalidEvent(_reason(error, body)) from None
    if model in _DATED:
        _check_time(event, record.timestamp_ms)
    if isinstance(event, Turn):
        _check_text(event, len(body))
    return event


def _refuse_type(name: str) -> type[Event]:
    if name in EVENT_TYPES:
        raise InvalidEvent("wrong_topic")
    known = name.rpartition(".")[0] in _NAMES or name == "?.v?"
    raise InvalidEvent("unknown_version" if known else "unknown_type")


def _unwrap(value: bytes) -> tuple[str, bytes]:
    """Take type and data out of a structured CloudEvent."""
    try:
        envelope = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise InvalidEvent("not_json") from None
    if not isinstance(envelope, dict):
        raise InvalidEvent("invalid_field")
    name = envelope.get("type")
    if not isinstance(name, str) or ("data" not in envelope and "data_base64" not in envelope):
        raise InvalidEvent("missing_field")
    if envelope.get("specversion") != "1.0":
        raise InvalidEvent("unknown_version")
    if "data" in envelope:
        return name, orjson.dumps(envelope["data"])
    try:
        return name, base64.b64decode(envelope["data_base64"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise InvalidEvent("invalid_field") from None


def _check_time(event: BaseModel, taken_ms: int) -> None:
    # The log's time, not ours: a replay must judge as the first reading did.
    now_ms = taken_ms if taken_ms > 0 else time.time() * 1000
    if event.at.timestamp() * 1000 > now_ms + _FUTURE_MS:  # type: ignore[attr-defined]
        raise InvalidEvent("future_time")


def _check_text(turn: Turn, size: int) -> None:
    texts = [turn.text] if turn.text is not None else [part.text for part in turn.segments or ()]
    if not any(map(str.strip, texts)):
        raise InvalidEvent("empty_text")
    # Text is never longer than the JSON around it, so most turns need no counting.
    if size > MAX_TEXT_BYTES and sum(len(text.encode()) for text in texts) > MAX_TEXT_BYTES:
        raise InvalidEvent("text_too_large")


def _reason(error: ValidationError, body: bytes) -> str:
    """Find the one word for a refused body; the order is from the coarsest fault to the finest."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    kinds = {fault["type"] for fault in faults}
    if "json_invalid" in kinds:
        return "not_json"
    if "missing" in kinds:
        return "missing_field"
    if any("not an id" in fault["msg"] or "not a namespace" in fault["msg"] for fault in faults):
        return "invalid_id"
    whole = any(fault["type"] == "value_error" and not fault["loc"] for fault in faults)
    if whole and not _says_twice(body):
        return "missing_field"
    return "invalid_field"


def _says_twice(body: bytes) -> bool:
    """True where a turn has both text and segments.

    That is the one rule over a whole event that is not about something absent.
    """
    value = orjson.loads(body)
    return value.get("text") is not None and value.get("segments") is not None
