"""Trying dead letters again, on request: the record is read at its position, which it keeps.

Nothing is put back into the log. In one transaction the row is locked in place of the position, the
consumer does what it would have done, and its messages go to the outbox: the position's own offset
was committed long ago, so they cannot travel with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from consumers import deadletters, outbox
from consumers.contract import BaseConsumer, Outcome
from consumers.deadletters import INTERNAL, Asked
from consumers.session import Session
from consumers.stages import Stages
from schemas.errors import ConfigurationError, PermanentError, TransientError, UnknownOutcome
from streams.codec import Record, record
from streams.reading import Reader

logger = logging.getLogger(__name__)


class Redrive:
    """An errand: looks for requests and tries each."""

    def __init__(
        self,
        consumer: BaseConsumer[Any, Any, Any],
        session: Session,
        stages: Stages,
        topic_ids: Callable[[], Mapping[str, str]],
        reader: Callable[[], Reader],
    ) -> None:
        """Keep what it takes; ``reader`` is called only where there is something to read."""
        self._consumer, self._session, self._stages = consumer, session, stages
        self._topic_ids, self._reader = topic_ids, reader

    def __call__(self) -> None:
        """Try what was asked for.

        Raises:
            TransientError: a part does not answer; what is left is tried later.
        """
        with self._session.transaction() as tx:
            wanted = deadletters.asked(tx, self._consumer.name)
        if not wanted:
            return
        ids = self._topic_ids()
        with self._reader() as reader:
            for letter in wanted:
                item = self._read(reader, letter) if ids.get(letter.topic) == letter.topic_id else None
                if item is None:
                    self._answer(letter, "gone")
                else:
                    self._try(letter, item)

    @staticmethod
    def _read(reader: Reader, letter: Asked) -> Record | None:
        found = reader.at(letter.topic, letter.part, letter.pos)
        return None if found is None else record(found, letter.log)

    def _try(self, letter: Asked, item: Record) -> None:
        try:
            result = self._store(letter, item)
        except (TransientError, UnknownOutcome, ConfigurationError):
            raise
        except PermanentError as error:
            self._answer(letter, "open", error.reason)
        except Exception as error:
            logger.error("redrive: fault of the program: %s", type(error).__name__)
            self._answer(letter, "open", INTERNAL)
        else:
            if result is not None:
                self._stages.count(1, result)
                self._consumer.settle(result)

    def _store(self, letter: Asked, item: Record) -> Outcome | None:
        consumer = self._consumer
        ready = consumer.prepare([item])
        with self._session.transaction() as tx:
            if not deadletters.take(tx, letter.id):
                return None
            result: Outcome = consumer.decide(ready, consumer.load(tx, ready))
            consumer.store(tx, result)
            outbox.put(tx, consumer.name, consumer.publish(result))
            again = [found.reason for found in result.dead_letters]
            deadletters.answer(tx, letter.id, "open" if again else "redriven", *again[:1])
        return result

    def _answer(self, letter: Asked, state: str, reason: str | None = None) -> None:
        with self._session.transaction() as tx:
            if deadletters.take(tx, letter.id):
                deadletters.answer(tx, letter.id, state, reason)
        logger.info("redrive of %d: %s", letter.id, reason or state)
