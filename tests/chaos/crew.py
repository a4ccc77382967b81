"""Consumers as threads of the test's process: the same worker on the same parts, without a process each.

Who is killed or stopped is always a process of its own (`harness.Process`); the rest of the pipeline need not be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from consumers.contract import BaseConsumer
from consumers.extractor.consumer import Extractor
from consumers.gate.consumer import Gate
from consumers.held import Gone
from consumers.indexer.consumer import Indexer
from consumers.purger.consumer import Purger
from consumers.resolver.consumer import Resolver
from consumers.running import assemble
from consumers.tuning import Tuning
from consumers.watchdog import Progress
from consumers.worker import Worker
from schemas.settings import Settings

MAKERS: dict[str, Callable[[Settings], BaseConsumer[Any, Any, Any]]] = {
    "extractor": Extractor,
    "gate": Gate,
    "resolver": Resolver,
    "indexer": Indexer,
    "purger": Purger,
}


class Crew:
    """Some of the consumers, from entering the context to leaving it."""

    def __init__(self, settings: Settings, names: Sequence[str]) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._faults: list[Exception] = []
        self._threads = [threading.Thread(target=self._run, args=(name,), name=f"crew-{name}") for name in names]

    def __enter__(self) -> Crew:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(90)
        if kind is None:
            assert not self._faults, self._faults
            assert not any(thread.is_alive() for thread in self._threads)

    def _run(self, name: str) -> None:
        while not self._stop.is_set():
            try:
                self._once(name)
            except Gone:
                # What a supervisor does with the process.
                continue
            except Exception as error:
                self._faults.append(error)
                return

    def _once(self, name: str) -> None:
        with ExitStack() as closing:
            consumer = MAKERS[name](self._settings)
            closing.callback(consumer.close)  # type: ignore[attr-defined]
            parts = assemble(consumer, self._settings, Tuning(), Progress(), self._stop, closing)
            if parts is not None:
                Worker(parts).run()
