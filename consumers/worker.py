"""The one loop that runs every consumer (design, section 6).

One turn takes one batch through three commits. Each arrow may be the last thing that the process
ever does; the right column says what makes the end state the same.

    take          poll the first record, drain what came with it
     │
    prepare       slow work, nothing open                  ── nothing moved: read again
     │
    BEGIN         move positions, compare-and-set          ── another moved them: rolled back
     load         lock subjects, read rows                 ── SubjectMoved: rolled back, prepared again
     decide       pure
     store        rows with the position of their cause
    COMMIT ───────────────────────────────────────────────── stored = next, committed = before:
     │                                                        resynchronise publishes again by query
    Kafka         messages and offsets, one transaction    ── aborted, unknown: the same
    COMMIT ───────────────────────────────────────────────── stored = committed: nothing to do
     │
    settle        effects outside both                     ── the consumer's tick takes up what is left
     │
    next turn     resynchronise, tick and outbox, take

What an exception means is said by its branch of the error tree (schemas/errors.py). Until the
PostgreSQL commit:

    SubjectMoved           prepare the batch again
    PositionMoved          resynchronise
    UnknownOutcome         resynchronise
    any TransientError     hold: partitions paused, membership kept, then the same batch again
    PermanentError         halve until the position stands alone, then it becomes a dead letter
    anything else          the same, but `_LIMIT_OF_FAULTS` in a row end the process
    ConfigurationError     end: a person must act
    Gone                   end: be started again

After it there is no way back, only on: what fails on the way to Kafka is resynchronised, what
fails in `settle` is tried in place, and a fault of the program ends the process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from consumers import deadletters, faults, positions, running
from consumers.backoff import Backoff
from consumers.contract import BaseConsumer, Outcome, Span
from consumers.deadletters import INTERNAL, DeadLetter
from consumers.held import Batch, Gone
from consumers.parts import Parts
from schemas.errors import (
    ConfigurationError,
    PermanentError,
    PositionMoved,
    SubjectMoved,
    TransientError,
    UnknownOutcome,
)
from schemas.settings import Settings

__all__ = ["BaseConsumer", "DeadLetter", "Span", "Worker", "run"]

logger = logging.getLogger(__name__)

WAIT_S = 0.1
"""How long a turn waits for a first record; a signal to stop is noticed as soon."""
_LIMIT_OF_FAULTS = 20
"""Records in a row that meet a fault of the program, after which it is taken to be broken."""
_MOVED_AT_ONCE = 3
"""Times that a batch is prepared again without a wait."""

Finish = Callable[[], None]
"""What remains to be done of a batch once PostgreSQL has it."""


class Worker:
    """One consumer, one thread."""

    def __init__(self, parts: Parts) -> None:
        """Take the parts; `running` makes the real ones, tests make doubles."""
        self._parts = parts
        self._consumer, self._intake = parts.consumer, parts.intake
        self._stage, self._progress = parts.stages, parts.progress
        self._patience = Backoff()
        self._faulty = 0

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> None:
        """Turn until told to stop; a batch that was begun is finished first."""
        while not self._parts.stopping():
            self.turn()

    def turn(self) -> None:
        """Resynchronise what needs it, run errands, take one batch through."""
        self._progress.turn()
        try:
            self._parts.resync()
            self._parts.errands()
            batch = self._intake.take(self._parts.batch_size, WAIT_S)
        except (TransientError, UnknownOutcome) as error:
            self._hold(error)
            return
        self._succeed()
        if batch.records:
            self._attend(batch, self._process)
        elif (passed := self._intake.passed()).nexts:
            self._attend(passed, self._pass_over)
        else:
            self._intake.commit_owed()

    def _attend(self, batch: Batch, work: Callable[[Batch], Finish]) -> None:
        """Do work on a batch until it is done, given up, or no longer ours."""
        while batch.nexts and not self._parts.stopping():
            self._progress.turn()
            try:
                finish = work(batch)
            except SubjectMoved as error:
                self._hold(error, at_once=self._patience.tries < _MOVED_AT_ONCE)
            except (PositionMoved, UnknownOutcome) as error:
                self._doubt(error)
                return
            except TransientError as error:
                self._hold(error)
            except (ConfigurationError, Gone):
                raise
            except Exception as error:
                self._isolate(batch, error)
                return
            else:
                self._succeed()
                finish()
                return
            batch = batch.held()

    # -- until the PostgreSQL commit ----------------------------------------------------------

    def _process(self, batch: Batch) -> Finish:
        consumer, stage = self._consumer, self._stage
        with stage("prepare"):
            ready = consumer.prepare(batch.records)
        with self._parts.session.transaction() as tx:
            with stage("load"):
                positions.move(tx, consumer.name, batch.moves())
                state = consumer.load(tx, ready)
            with stage("decide"):
                result = consumer.decide(ready, state)
            with stage("store"):
                consumer.store(tx, result)
                deadletters.add(tx, consumer.name, result.dead_letters)
            self._parts.faults.at(faults.BEFORE_PG_COMMIT)
        self._stored(batch)
        self._stage.count(len(batch.records), result)
        self._faulty = 0
        return lambda: self._publish(batch, result)

    def _pass_over(self, batch: Batch) -> Finish:
        """Move positions to where a log ends behind its control records."""
        return self._only_move(batch, [])

    def _only_move(self, batch: Batch, letters: list[DeadLetter]) -> Finish:
        with self._parts.session.transaction() as tx:
            positions.move(tx, self._consumer.name, batch.moves())
            deadletters.add(tx, self._consumer.name, letters)
        self._stored(batch)
        return lambda: self._intake.commit_later(batch)

    def _stored(self, batch: Batch) -> None:
        batch.moved()
        self._progress.moved()
        self._parts.faults.at(faults.AFTER_PG_COMMIT)

    def _isolate(self, batch: Batch, error: Exception) -> None:
        """Halve a batch that cannot be done, until the one record at fault is found."""
        if not batch.records:
            raise error
        if len(batch.records) > 1:
            for half in batch.halves():
                self._attend(half.held(), self._process)
            return
        reason = error.reason if isinstance(error, PermanentError) else self._fault(error)
        letter = DeadLetter(batch.records[0].position, reason)
        logger.warning("dead letter %s at %s", reason, letter.position)
        self._stage.give_up(reason)
        self._attend(batch, lambda alone: self._only_move(alone, [letter]))

    def _fault(self, error: Exception) -> str:
        """Take note of a fault of the program; it is raised where it looks like more than one record."""
        logger.error("fault of the program: %s", running.whereabouts(error))
        self._faulty += 1
        if self._faulty >= _LIMIT_OF_FAULTS:
            raise error
        return INTERNAL

    # -- after it -----------------------------------------------------------------------------

    def _publish(self, batch: Batch, result: Outcome) -> None:
        try:
            messages = self._consumer.publish(result)
            if messages:
                membership = self._intake.membership()
                self._parts.outlet.publish(messages, batch.offsets(), membership)
            else:
                self._intake.commit_later(batch)
        except (TransientError, UnknownOutcome) as error:
            self._doubt(error)
            return
        self._parts.faults.at(faults.AFTER_KAFKA_COMMIT)
        self._settle(result, batch)

    def _settle(self, result: Outcome, batch: Batch) -> None:
        """Try in place until it is done, but once more only while the partitions are ours."""
        patience = Backoff()
        while True:
            try:
                with self._stage("settle"):
                    self._parts.faults.at(faults.IN_SETTLE)
                    self._consumer.settle(result)
                return
            except (TransientError, UnknownOutcome) as error:
                self._note(error, patience.tries)
            except PermanentError as error:
                # Its effects are repeatable, so what is missing is found by the consumer's tick.
                logger.error("settle given up: %s", error.reason)
                return
            self._intake.hold(patience.next(), self._waiting)
            if self._parts.stopping() or not batch.held().nexts:
                return

    # -- waiting ------------------------------------------------------------------------------

    def _hold(self, error: Exception, at_once: bool = False) -> None:
        self._note(error, self._patience.tries)
        seconds = self._patience.next()
        if not at_once:
            self._intake.hold(seconds, self._waiting)

    def _doubt(self, error: Exception) -> None:
        """Take nothing more before stored and committed positions are looked up."""
        self._note(error, 0)
        self._intake.distrust()

    def _note(self, error: Exception, tries: int) -> None:
        self._stage.retry(error)
        # Our own errors say what happened in words that hold no content.
        logger.warning("%s: %s (try %d)", type(error).__name__, error, tries + 1)
        self._progress.trouble = str(error) if tries >= _MOVED_AT_ONCE else ""

    def _succeed(self) -> None:
        self._patience.reset()
        self._progress.trouble = ""

    def _waiting(self) -> bool:
        self._progress.turn()
        return self._parts.stopping()


def run(consumer: BaseConsumer[Any, Any, Any], settings: Settings) -> int:
    """Run a consumer until SIGTERM or SIGINT and give the exit status (see `running`)."""
    return running.run(consumer, settings, lambda parts: Worker(parts).run())
