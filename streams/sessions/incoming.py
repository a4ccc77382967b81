"""From a message as Faust hands it over to a record of ours; never fails, whatever the bytes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams.codec import Record
from streams.codec import record as taken


class _Arrived:
    """Looks to the codec like a message of librdkafka."""

    def __init__(self, message: Any) -> None:
        headers = message.headers or ()
        self.topic: Callable[[], str | None] = lambda: str(message.topic)
        self.partition: Callable[[], int | None] = lambda: int(message.partition)
        self.offset: Callable[[], int | None] = lambda: int(message.offset)
        self.key: Callable[[], Any] = lambda: _bytes(message.key)
        self.value: Callable[[], Any] = lambda: _bytes(message.value)
        self.headers: Callable[[], Any] = lambda: list(headers.items() if isinstance(headers, dict) else headers)
        # Faust gives seconds.
        self.timestamp: Callable[[], tuple[int, int]] = lambda: (1, int((message.timestamp or 0) * 1000))


def record(message: Any, log: int) -> Record:
    """Take over a message.

    Args:
        message: of Faust.
        log: number of its log in table ``logs``.
    """
    return taken(_Arrived(message), log)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
