"""Lines of a turns file to records of the log: native events as they are, the simple form of cli.md converted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from schemas.errors import Refused
from schemas.events import Turn
from schemas.topics import TURNS
from streams.codec import Message

TURN, CONTROL = "org.obelus.turn.v1", "org.obelus.control.v1"


class Lines:
    """Converts lines one by one and remembers what it needs to tell equal lines apart."""

    def __init__(self, tenant: str = "default") -> None:
        """Take the tenant of lines that name none."""
        self._tenant = tenant
        self._seen: Counter[bytes] = Counter()

    def messages(self, lines: Iterable[bytes]) -> Iterator[Message]:
        """Give the record of each line; empty lines are passed over.

        Raises:
            Refused: a line is no JSON object or lacks what its form needs; the message names its number.
        """
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield self.message(line)
                except Refused as error:
                    raise Refused(error.reason, f"line {number}: {error}") from None

    def message(self, line: bytes) -> Message:
        """Give the record of one line.

        Raises:
            Refused: as `messages`, without the number.
        """
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise Refused("not_json", "not JSON") from None
        if not isinstance(found, dict):
            raise Refused("not_json", "not a JSON object")
        if "user" in found and "subject" not in found:
            return self._simple(found)
        return self._native(found)

    def _native(self, found: dict[str, Any]) -> Message:
        """A native event is published as it is: what is wrong with it is the extractor's to say."""
        found.setdefault("tenant", self._tenant)
        kind = CONTROL if "action" in found else TURN
        name = found.get("request_id" if kind == CONTROL else "message_id")
        for field in (found["tenant"], found.get("subject"), name):
            if not isinstance(field, str):
                raise Refused("missing_field", "an event needs subject and message_id, a control request_id")
        return Message(TURNS, f"{found['tenant']}:{found['subject']}", kind, str(name), orjson.dumps(found))

    def _simple(self, found: dict[str, Any]) -> Message:
        given: dict[str, Any] = {
            "tenant": found.get("tenant") or self._tenant,
            "subject": found["user"],
            **{name: found[name] for name in ("conversation", "role", "text", "at", "timezone") if name in found},
        }
        given["message_id"] = found.get("message_id") or self._derived(given)
        try:
            turn = Turn.model_validate(given)
        except ValidationError as error:
            fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
            place = ".".join(map(str, fault["loc"])) or "turn"
            raise Refused("invalid_field", f"{place}: {fault['msg']}") from None
        body = turn.model_dump_json(exclude_none=True).encode()
        return Message(TURNS, f"{turn.tenant}:{turn.subject}", TURN, turn.message_id, body)

    def _derived(self, given: Mapping[str, Any]) -> str:
        """A message id from what is said and how often it was said before in its conversation.

        Inserting a line renames nothing but equal lines after it.
        """
        said = [str(given.get(name)) for name in ("tenant", "subject", "conversation", "role", "text")]
        line = hashlib.sha256(orjson.dumps(said)).digest()
        ordinal = self._seen[line]
        self._seen[line] += 1
        return f"m-{hashlib.sha256(line + ordinal.to_bytes(8, 'big')).hexdigest()[:32]}"
