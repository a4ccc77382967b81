"""The worker's side of the log: the one Kafka consumer, owned by one thread.

Every partition that Kafka assigns is *held* by one `Held` object, until it is revoked or lost; a new
assignment is a new object. A held partition gives records only while it is *ready*, which
`resynchronise` makes it and `distrust` unmakes. So whatever arrives late, early or twice around a
rebalance, an error or a seek is not taken:

    assigned ──▶ held ──resynchronised──▶ ready ──▶ records
                  ▲                         │
                  └──────── distrust ───────┘        revoked, lost: the object is dropped

Nothing is open while the consumer is polled: no transaction, no batch but one that waits to be
tried again and has moved no position. Giving a partition up therefore needs no flush; the time for
finishing a batch, after which Kafka gives its partitions away, is ``max.poll.interval.ms``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from consumers.held import Batch, Gone, Held
from schemas.errors import PartUnavailable
from schemas.settings import Settings
from streams.client import code, common, unavailable
from streams.codec import is_marker, record
from streams.offsets import group_id

logger = logging.getLogger(__name__)

MAX_POLL_INTERVAL_MS = 120_000
_REQUEST_S = 10.0
_SLICE_S = 0.05
_QUEUE_KB = 8192
"""What the client reads ahead, in all: bounds memory, and a batch of large turns with it."""


def consumer_config(settings: Settings, name: str, on_commit: Callable[..., None]) -> dict[str, Any]:
    """Settings of the one consumer."""
    return common(settings, name) | {
        "group.id": group_id(name),
        "group.protocol": "consumer",
        "on_commit": on_commit,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        # A position outside the log is for `resynchronise` to judge, never to be skipped.
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        # Tells where a partition ends behind its control records: a position gets there exactly.
        "enable.partition.eof": True,
        "max.poll.interval.ms": MAX_POLL_INTERVAL_MS,
        # The broker answers as soon as there is a record; this bounds an idle request.
        "fetch.wait.max.ms": 100,
        "fetch.queue.backoff.ms": 5,
        "fetch.error.backoff.ms": 100,
        # One record may be larger than any of these and still arrives.
        "queued.max.messages.kbytes": _QUEUE_KB,
        "fetch.max.bytes": 4 << 20,
        "fetch.message.max.bytes": 1 << 20,
    }


class Intake:
    """Takes batches, keeps track of what is held."""

    def __init__(self, make: Callable[[Callable[..., None]], Consumer], topics: Sequence[str]) -> None:
        """Own the client and join its group; ``make`` is given what to call after a commit."""
        self._consumer = make(self.note_commit)
        self._held: dict[tuple[str, int], Held] = {}
        self._owed = False
        self._consumer.subscribe(
            list(topics),
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )

    # -- what Kafka says, always inside a call of ours ---------------------------------------

    def _assigned(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        logger.info("assigned %s", _names(parts))
        for part in parts:
            self._held[part.topic, part.partition] = Held(part.topic, part.partition)
        # Where to begin is decided by `resynchronise`, which seeks. Until then nothing old is
        # fetched, and what is new arrives at a partition that is not ready and is dropped.
        consumer.incremental_assign([TopicPartition(p.topic, p.partition, OFFSET_END) for p in parts])

    def _revoked(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        logger.info("revoked %s", _names(parts))
        self._drop(parts)
        consumer.incremental_unassign(parts)

    def _lost(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        logger.warning("lost %s", _names(parts))
        self._drop(parts)
        consumer.incremental_unassign(parts)

    def _drop(self, parts: Iterable[TopicPartition]) -> None:
        for part in parts:
            held = self._held.pop((part.topic, part.partition), None)
            if held is not None:
                held.ready = False

    # -- taking -------------------------------------------------------------------------------

    def take(self, limit: int, wait: float) -> Batch:
        """Wait for a first record, then take what has arrived with it, up to ``limit``.

        Raises:
            Gone: the client has failed for good.
        """
        try:
            first = self._consumer.poll(wait)
            if first is None:
                return Batch()
            arrived = [first, *self._consumer.consume(limit - 1, 0)] if limit > 1 else [first]
        except KafkaException as error:
            # What this call had taken is lost to us, so every place is looked up again.
            self.distrust()
            raise _worse(error) from None
        return self._sift(arrived)

    def _sift(self, arrived: Iterable[Message]) -> Batch:
        batch = Batch()
        held_by_place, records, nexts = self._held, batch.records, batch.nexts
        for item in arrived:
            held = held_by_place.get((item.topic(), item.partition()))  # type: ignore[arg-type]
            error = item.error()
            if error is not None:
                self._notice(error, held, item)
                continue
            offset = item.offset()
            if held is None or not held.ready or offset is None or offset < held.reached:
                continue
            held.reached = nexts[held] = offset + 1
            taken = record(item, held.log)
            if not is_marker(taken):
                records.append(taken)
        for held in nexts:
            nexts[held] = held.reached
        return batch

    def _notice(self, error: KafkaError, held: Held | None, item: Message) -> None:
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's name
            if held is not None and held.ready:
                held.reached = max(held.reached, item.offset() or 0)
            return
        if error.fatal():
            raise Gone(error.name())
        logger.warning("kafka: %s", error.name())
        if held is not None:
            held.ready = False

    def passed(self) -> Batch:
        """Give a batch without records that moves over what intake has passed over."""
        return Batch([], {h: h.reached for h in self._held.values() if h.ready and h.reached > h.next})

    # -- waiting ------------------------------------------------------------------------------

    def hold(self, seconds: float, done: Callable[[], bool]) -> None:
        """Wait with every partition paused and the group membership kept up.

        Records that were read ahead are fetched again from where intake had got to.
        """
        deadline = time.monotonic() + seconds
        try:
            self._consumer.pause(self._consumer.assignment())
            while time.monotonic() < deadline and not done():
                item = self._consumer.poll(min(_SLICE_S, seconds))
                error = None if item is None else item.error()
                if error is not None and error.fatal():
                    raise Gone(error.name())
            self._consumer.resume(self._consumer.assignment())
            for held in self._held.values():
                if held.ready:
                    self._consumer.seek(held.at(held.reached))
        except KafkaException as error:
            self.distrust()
            logger.warning("kafka: %s", code(error))
            # Not at once again: whoever holds does so because something is out of order.
            time.sleep(min(_SLICE_S, seconds))

    # -- resynchronising ----------------------------------------------------------------------

    def distrust(self) -> None:
        """Take nothing more of any partition until it is resynchronised."""
        for held in self._held.values():
            held.ready = False

    def unready(self) -> list[Held]:
        """Give the partitions to be resynchronised, in (topic, partition) order."""
        waiting = (held for held in self._held.values() if not held.ready)
        return sorted(waiting, key=lambda held: (held.topic, held.part))

    def committed(self, parts: Sequence[Held]) -> dict[Held, int | None]:
        """Ask the group's committed offsets.

        Raises:
            PartUnavailable: no answer.
        """
        try:
            found = self._consumer.committed([held.at(0) for held in parts], timeout=_REQUEST_S)
        except KafkaException as error:
            raise unavailable(error) from error
        by_place = {(at.topic, at.partition): at.offset for at in found}
        offsets = {held: by_place[held.topic, held.part] for held in parts}
        return {held: offset if offset >= 0 else None for held, offset in offsets.items()}

    def watermarks(self, held: Held) -> tuple[int, int]:
        """Ask for a partition's first offset and the one after its last committed record.

        Raises:
            PartUnavailable: no answer.
        """
        try:
            found = self._consumer.get_watermark_offsets(held.at(0), timeout=_REQUEST_S)
        except KafkaException as error:
            raise unavailable(error) from error
        if found is None:
            raise PartUnavailable("kafka: no watermarks")
        return found

    def start(self, held: Held, log: int, position: int) -> None:
        """Take records from here on.

        Raises:
            PartUnavailable: the client could not go there yet.
        """
        try:
            self._consumer.seek(held.at(position))
            # The client remembers a pause beyond the end of an assignment: a partition that was lost while
            # `hold` waited, and came back, is still paused.
            self._consumer.resume([held.at(position)])
        except KafkaException as error:
            raise unavailable(error) from error
        held.log, held.next, held.reached, held.ready = log, position, position, True

    # -- committing ---------------------------------------------------------------------------

    def membership(self) -> Any:
        """Who this worker is in its group, which fences its offsets in a transaction."""
        return self._consumer.consumer_group_metadata()

    def commit_later(self, batch: Batch) -> None:
        """Commit offsets that no message goes with, without waiting.

        Where it is lost, a resynchronisation finds nothing to publish in between; `commit_owed` does
        it again, so that whoever looks from outside is not told of lag for ever.
        """
        self._commit(batch.offsets())

    def commit_owed(self) -> None:
        """Commit again what was refused; stored positions of what is ready are always published."""
        if self._owed:
            self._owed = False
            self._commit([held.at(held.next) for held in self._held.values() if held.ready])

    def _commit(self, offsets: list[TopicPartition]) -> None:
        try:
            if offsets:
                self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            logger.warning("kafka commit: %s", code(error))
            self._owed = True

    def note_commit(self, error: KafkaError | None, parts: list[TopicPartition]) -> None:
        """Hear how an asynchronous commit ended; called by the client while it is polled."""
        refused = error or next((part.error for part in parts if part.error), None)
        if refused is not None:
            logger.warning("kafka commit: %s", refused.name())
            self._owed = True

    # -- looking ------------------------------------------------------------------------------

    def parts(self) -> list[Held]:
        """Give what is held now."""
        return list(self._held.values())

    def lag(self) -> dict[str, int]:
        """Count by topic what lies between stored positions and ends; asks the broker.

        Committed offsets are compared on the way: a former owner's late commit may have set one back.

        Raises:
            PartUnavailable: no answer.
        """
        ready = [held for held in self._held.values() if held.ready]
        left = dict.fromkeys((held.topic for held in ready), 0)
        for held in ready:
            left[held.topic] += max(0, self.watermarks(held)[1] - held.next)
        if ready:
            self._owed |= any(offset != held.next for held, offset in self.committed(ready).items())
        return left

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


def _names(parts: Iterable[TopicPartition]) -> str:
    return " ".join(sorted(f"{part.topic}/{part.partition}" for part in parts)) or "nothing"


def _worse(error: KafkaException) -> Exception:
    inside = error.args[0]
    if isinstance(inside, KafkaError) and inside.fatal():
        return Gone(inside.name())
    return unavailable(error)
