"""What a worker counts and times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from consumers.contract import Outcome
from schemas.words import TurnOutcome
from streams.metrics import BATCH_RECORDS, DEAD_LETTERS, ERASED_SOURCE, EVENTS, RETRIES, STAGE_SECONDS

STAGES = (
    "prepare",
    "load",
    "decide",
    "store",
    "pg_commit",
    "publish",
    "kafka_commit",
    "settle",
    "tick",
)


class Stages:
    """Metrics of one consumer; ``with stages("load"):`` times a stage."""

    def __init__(self, consumer: str) -> None:
        """Make every label that will be used, so that a metric is there before its first event."""
        self._consumer = consumer
        self._seconds = {name: STAGE_SECONDS.labels(consumer, name) for name in STAGES}
        self._records = BATCH_RECORDS.labels(consumer)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time a stage, whether it succeeds or not."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage].observe(time.perf_counter() - start)

    def count(self, records: int, result: Outcome) -> None:
        """Count a batch that is stored."""
        self._records.observe(records)
        for outcome, number in result.counts.items():
            EVENTS.labels(self._consumer, outcome).inc(number)
            if outcome == TurnOutcome.ERASED_SOURCE:
                ERASED_SOURCE.labels(self._consumer).inc(number)
        for letter in result.dead_letters:
            self.give_up(letter.reason)

    def give_up(self, reason: str) -> None:
        """Count a dead letter."""
        DEAD_LETTERS.labels(self._consumer, reason).inc()

    def retry(self, error: Exception) -> None:
        """Count work that will be taken up again."""
        RETRIES.labels(self._consumer, type(error).__name__).inc()
