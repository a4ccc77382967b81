"""Resynchronising: the one way back from every doubt (design, section 6, Position).

After an assignment, a failed compare-and-set, an aborted or unknown Kafka transaction:

    read committed ─▶ read stored ─▶ publish again what lies between ─▶ commit = stored ─▶ seek

Committed is read first, so that a stored position which moves in between only widens the span.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from consumers import positions
from consumers.contract import BaseConsumer, Span
from consumers.held import Held
from consumers.intake import Intake
from consumers.outlet import Outlet
from consumers.positions import Move
from consumers.session import Session
from schemas.errors import LostRange
from schemas.topics import BY_NAME
from streams.metrics import LOST, RETRIES

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of one partition.

    Attributes:
        stored: the position in PostgreSQL.
        committed: the group's offset in Kafka, None where there was none.
        low: first offset that the log still has.
        high: offset after the last committed record.
    """

    stored: int
    committed: int | None
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Course:
    """What to do about a place.

    Attributes:
        start: where to go on reading.
        again: the span to publish again, or None.
        lost: the span that the log has no more, or None.
    """

    start: int
    again: tuple[int, int] | None = None
    lost: tuple[int, int] | None = None


def chart(place: Place) -> Course:
    """Decide about one partition; pure.

    A position below the log lost what was between. One past its end means that the log was cut, and
    what was written since lies anywhere in it: everything still there is read again.
    """
    stored = place.stored
    published = place.low if place.committed is None else place.committed
    again = (published, stored) if published < stored else None
    if stored < place.low:
        return Course(place.low, again, (stored, place.low))
    if stored > place.high:
        return Course(place.low, again, (place.high, stored))
    return Course(stored, again)


@dataclass(frozen=True, slots=True)
class Resync:
    """Resynchronises what is not ready."""

    consumer: BaseConsumer[Any, Any, Any]
    intake: Intake
    session: Session
    outlet: Outlet
    topic_ids: Callable[[], Mapping[str, str]]

    def __call__(self) -> None:
        """Make every held partition ready.

        Raises:
            TransientError: a part does not answer; try again.
            UnknownOutcome: the Kafka transaction failed; try again.
            LostRange: an inbound log has lost what was not read; a person must decide.
        """
        parts = self.intake.unready()
        if not parts:
            return
        ids = self.topic_ids()
        committed = self.intake.committed(parts)
        marks = {held: self.intake.watermarks(held) for held in parts}
        with self.session.transaction() as tx:
            numbers = positions.logs(tx, ids)
            parts_by_place = {(numbers[held.topic], held.part): held for held in parts}
            stored = self._stored(tx, parts_by_place, marks)
            courses = {
                held: chart(Place(stored[at], committed[held], *marks[held])) for at, held in parts_by_place.items()
            }
            self._mend(tx, parts_by_place, stored, courses)
            messages = self._again(tx, parts_by_place, courses)
        self._commit(parts, courses, committed, messages)
        for held in parts:
            self.intake.start(held, numbers[held.topic], courses[held].start)
        logger.info("resynchronised %s", " ".join(_shown(held) for held in parts))

    def _stored(
        self,
        tx: positions.Tx,
        parts: Mapping[positions.Part, Held],
        marks: Mapping[Held, tuple[int, int]],
    ) -> dict[positions.Part, int]:
        """Read stored positions; where there is none, the low watermark becomes it."""
        name, logs = self.consumer.name, [log for log, _ in parts]
        stored = positions.read(tx, name, logs)
        missing = {at: marks[held][0] for at, held in parts.items() if at not in stored}
        if missing:
            positions.add(tx, name, missing)
            # Read again: another worker may have entered one between our two statements.
            stored = positions.read(tx, name, logs)
        return stored

    def _mend(
        self,
        tx: positions.Tx,
        parts: Mapping[positions.Part, Held],
        stored: Mapping[positions.Part, int],
        courses: Mapping[Held, Course],
    ) -> None:
        """Deal with what logs have lost: stop for an inbound one, go on loudly for one of ours."""
        lost = {at: held for at, held in parts.items() if courses[held].lost}
        upto = positions.cuts(tx, [log for log, _ in lost]) if lost else {}
        spans, replayed, gone_for_good = [], [], []
        for at, held in lost.items():
            start, stop = courses[held].lost or (0, 0)
            if stop == courses[held].start and stop <= upto.get(at, -1):
                # Obelus cut the log there itself, when this consumer was past it: this is a replay.
                logger.warning("%s/%d is replayed from %d, where it was cut", held.topic, held.part, stop)
                replayed.append(Move(*at, stored[at], courses[held].start))
                continue
            if _inbound(held.topic):
                gone_for_good.append((held, start, stop))
                continue
            logger.error("%s/%d has lost offsets %d to %d", held.topic, held.part, start, stop - 1)
            LOST.labels(self.consumer.name, held.topic).inc(stop - start)
            spans.append(Span(*at, start, stop))
        if gone_for_good:
            raise LostRange(_named(self.consumer.name, gone_for_good))
        if replayed:
            positions.move(tx, self.consumer.name, replayed)
        if spans:
            gone = {span[:2] for span in spans}
            moves = [Move(*at, stored[at], courses[held].start) for at, held in lost.items() if at in gone]
            positions.move(tx, self.consumer.name, moves)
            self.consumer.reconcile(tx, spans)

    def _again(
        self,
        tx: positions.Tx,
        parts: Mapping[positions.Part, Held],
        courses: Mapping[Held, Course],
    ) -> Sequence[Any]:
        spans = [Span(*at, *again) for at, held in parts.items() if (again := courses[held].again)]
        if not spans:
            return ()
        messages = self.consumer.republish(tx, spans)
        if messages:
            RETRIES.labels(self.consumer.name, "published_again").inc(len(messages))
            logger.warning("publishing %d messages again", len(messages))
        return messages

    def _commit(
        self,
        parts: Sequence[Held],
        courses: Mapping[Held, Course],
        committed: Mapping[Held, int | None],
        messages: Sequence[Any],
    ) -> None:
        offsets = [held.at(courses[held].start) for held in parts if courses[held].start != committed[held]]
        if offsets or messages:
            self.outlet.publish(messages, offsets, self.intake.membership())


def _named(consumer: str, lost: Sequence[tuple[Held, int, int]]) -> str:
    """Name what an operator must decide about, and the command that accepts it."""
    places = ", ".join(f"{held.topic}/{held.part}: offsets {start} to {stop - 1}" for held, start, stop in lost)
    ranges = " ".join(f"{consumer}:{held.topic}/{held.part}:{start}-{stop - 1}" for held, start, stop in lost)
    return (
        f"{places} were not read by {consumer} and are no longer in the log; bring the log back, or go on without "
        f"them: `obelus accept-lost {ranges}`"
    )


def _inbound(topic: str) -> bool:
    return topic not in BY_NAME or BY_NAME[topic].inbound


def _shown(held: Held) -> str:
    return f"{held.topic}/{held.part}@{held.next}"
