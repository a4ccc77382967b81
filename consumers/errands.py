"""What a worker does between batches: the consumer's tick, redriving, the outbox, looking at lag.

None of it may stop the batches: what fails is tried again later, by a clock of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from consumers import outbox
from consumers.backoff import Backoff
from consumers.contract import BaseConsumer
from consumers.held import Gone
from consumers.intake import Intake
from consumers.outlet import Outlet
from consumers.session import Session
from consumers.stages import Stages
from consumers.watchdog import Progress
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome
from streams.metrics import LAG

logger = logging.getLogger(__name__)

_OUTBOX_EVERY_S = 1.0
_LAG_EVERY_S = 15.0
_LIMIT_OF_FAULTS = 20
"""Times in a row that an errand meets a fault of the program before the process ends."""


class Errand:
    """One job that recurs, with its own clock and patience."""

    def __init__(self, name: str, every: float, job: Callable[[], None]) -> None:
        """Due at once."""
        self.name, self._every, self._job = name, every, job
        self._patience = Backoff(first=max(every, 0.1), cap=60.0)
        self._due = 0.0

    def __call__(self) -> None:
        """Do it where it is due; what fails is due again after a longer wait.

        Raises:
            Exception: a fault of the program that does not go away.
        """
        if time.monotonic() < self._due:
            return
        try:
            self._job()
        except (ConfigurationError, Gone):
            raise
        except (TransientError, UnknownOutcome) as error:
            logger.warning("%s: %s: %s", self.name, type(error).__name__, error)
            self._due = time.monotonic() + self._patience.next()
        except Exception as error:
            if self._patience.tries >= _LIMIT_OF_FAULTS:
                raise
            logger.error("%s: fault of the program: %s", self.name, type(error).__name__)
            self._due = time.monotonic() + self._patience.next()
        else:
            self._patience.reset()
            self._due = time.monotonic() + self._every


class Errands:
    """All of a worker's errands."""

    def __init__(
        self,
        consumer: BaseConsumer[Any, Any, Any],
        intake: Intake,
        session: Session,
        outlet: Outlet,
        stages: Stages,
        progress: Progress,
        redrive: Callable[[], None],
    ) -> None:
        """Arrange them; the tick only where the consumer has one."""
        self._consumer, self._intake, self._session = consumer, intake, session
        self._outlet, self._stages, self._progress = outlet, stages, progress
        # Redriving comes before the outbox, into which it puts what it has to say.
        self._jobs = [
            Errand("redrive", _OUTBOX_EVERY_S, redrive),
            Errand("outbox", _OUTBOX_EVERY_S, self._flush),
            Errand("lag", _LAG_EVERY_S, self._look),
        ]
        if type(consumer).tick is not BaseConsumer.tick:
            self._jobs.insert(0, Errand("tick", consumer.tick_seconds, self._tick))

    def __call__(self) -> None:
        """Do what is due."""
        for job in self._jobs:
            job()

    def _tick(self) -> None:
        with self._stages("tick"):
            with self._session.transaction() as tx:
                messages = self._consumer.tick(tx)
                outbox.put(tx, self._consumer.name, messages)
            if messages:
                self._flush()
            self._consumer.after_tick()

    def _flush(self) -> None:
        outbox.flush(self._session, self._outlet, self._consumer.name, self._intake.membership())

    def _look(self) -> None:
        self._progress.lag = self._intake.lag()
        for topic, behind in self._progress.lag.items():
            LAG.labels(self._consumer.name, topic).set(behind)
