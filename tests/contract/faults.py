"""A client between an eraser and its store that does what networks and stores do wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

FAULTS = ("lost", "twice", "delayed", "refused", "pretended")
"""Answer lost after applying, applied twice, delayed, refused, acknowledged but not done."""


class Faulty:
    """Passes everything on, and lets one fault happen to the calls that change something."""

    def __init__(
        self,
        target: Any,
        changing: Iterable[str] | Callable[[str, tuple], bool],
        fault: str,
        error: Callable[[], Exception],
        *,
        pretended: Any = None,
    ) -> None:
        """Take what is called, what of it changes something, what goes wrong with that, and what is then raised.

        ``pretended`` is what a call gives that did nothing; a function is asked with the call's own arguments.
        """
        self._target = target
        self._changing = changing if callable(changing) else (lambda name, _: name in set(changing))
        self._fault = fault
        self._error = error
        self._pretended = pretended
        self.happened = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._changing(name, args):
                return found(*args, **kwargs)
            self.happened += 1
            pretended = self._pretended
            return self._wrong(
                lambda: found(*args, **kwargs), lambda: pretended(*args) if callable(pretended) else pretended
            )

        return call

    def __enter__(self) -> Faulty:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave closing to whoever opened it."""

    def _wrong(self, do: Callable[[], Any], pretend: Callable[[], Any]) -> Any:
        if self._fault == "lost":
            do()
            raise self._error()
        if self._fault == "twice":
            do()
            return do()
        if self._fault == "delayed":
            time.sleep(0.2)
            return do()
        if self._fault == "refused":
            raise self._error()
        return pretend()
