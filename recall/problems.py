"""Errors as ``application/problem+json`` (RFC 9457). No problem carries content or what was sent."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A request ends with an HTTP status, a fixed word and a sentence."""

    def __init__(self, status: int, code: str, detail: str, *, errors: list[dict[str, Any]] | None = None) -> None:
        """Keep status, fixed word, sentence, and for a malformed body where it is wrong."""
        super().__init__(code)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors

    def body(self) -> bytes:
        """The problem document."""
        document: dict[str, Any] = {
            "type": f"urn:obelus:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors is not None:
            document["errors"] = self.errors
        return orjson.dumps(document)


def not_found() -> Problem:
    """What is not there and what belongs to someone else look the same."""
    return Problem(404, "not_found", "There is nothing of that id here.")


def unavailable() -> Problem:
    """A part that this request cannot do without does not answer."""
    return Problem(503, "unavailable", "A part of the stack does not answer; try again.")


def invalid(faults: list[Any]) -> Problem:
    """A malformed request: places and kinds of fault, never the values."""
    errors = [{"loc": list(fault["loc"]), "type": fault["type"]} for fault in faults]
    return Problem(422, "invalid_request", "The request is malformed.", errors=errors)
