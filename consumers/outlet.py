"""The worker's transactional producer: messages and offsets out together, or neither.

begin ─▶ produce ─▶ flush ─▶ send offsets ─▶ commit ─▶ out
│          │         │            │           │
└──────────┴─────────┴────────────┴───────────┴──▶ abort ─▶ UnknownOutcome: resynchronise
fenced, fatal ─▶ Gone: end, be restarted
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from consumers.faults import ABORT_KAFKA, BEFORE_KAFKA_COMMIT, Faults
from consumers.held import Gone
from schemas.errors import UnknownOutcome
from streams.client import code, detail, unavailable
from streams.codec import Message
from streams.producer import produce

logger = logging.getLogger(__name__)

_REQUEST_S = 10.0
_OFFSETS_S = 1.5 * _REQUEST_S
"""librdkafka's `send_offsets_to_transaction` takes no notice of its time-out where the coordinator went away
(its issue 5456, seen in 2.16.1): a process that is caught in it ends."""
_COMMIT_TRIES = 3
_CHUNK = 10_000
"""Records in one transaction where a long span is published again."""

Stage = Callable[[str], AbstractContextManager[None]]
Within = Callable[[float], AbstractContextManager[None]]
Make = Callable[[Callable[[], None]], Producer]


def _unbounded(_: float) -> AbstractContextManager[None]:
    return nullcontext()


class Outlet:
    """One transaction at a time."""

    def __init__(self, make: Make, stage: Stage, faults: Faults, within: Within = _unbounded) -> None:
        """Make a producer with a ``transactional.id``.

        Args:
            make: makes it; what it is given is called where no broker can be reached.
            stage: measures.
            faults: points at which a test kills.
            within: ends the process where what it guards does not come back in that many seconds.
        """
        self._faults = faults
        self._lost = threading.Event()
        self._make = make
        self._producer = make(self._lost.set)
        self._stage, self._within = stage, within
        self._open = False

    def start(self) -> None:
        """Fence whoever used this id before, and end what it left open.

        Raises:
            PartUnavailable: the coordinator does not answer; try again.
            Gone: the producer cannot be used.
        """
        try:
            self._producer.init_transactions(_REQUEST_S)
        except KafkaException as error:
            if detail(error).fatal():
                raise Gone(code(error)) from error
            raise unavailable(error) from error

    def _renew(self) -> None:
        """Start again with another producer where the brokers were away meanwhile.

        The old one would be caught in its next `send_offsets_to_transaction`.
        """
        self._producer.poll(0)
        if self._lost.is_set():
            self._producer = self._make(self._lost.set)
            self.start()
            self._lost.clear()

    def publish(self, messages: Sequence[Message], offsets: list[TopicPartition], membership: Any) -> None:
        """Write messages and commit offsets, at once for readers of committed records.

        Above `_CHUNK` messages several transactions are used, the last of which has the offsets:
        what is out of an unfinished row is published again.

        Raises:
            UnknownOutcome: the transaction was aborted, or nobody knows; resynchronise.
            PartUnavailable: the brokers were away, and still are; nothing was begun.
            Gone: another process has taken this transactional id.
        """
        for start in range(0, max(1, len(messages)), _CHUNK):
            last = start + _CHUNK >= len(messages)
            self._once(messages[start : start + _CHUNK], offsets if last else [], membership)

    def _once(self, messages: Sequence[Message], offsets: list[TopicPartition], membership: Any) -> None:
        try:
            self._finish_abort()
            self._renew()
            with self._stage("publish"):
                self._producer.begin_transaction()
                self._open = True
                self._write(messages)
                if self._faults.due(ABORT_KAFKA):
                    self.abort()
            with self._stage("kafka_commit"):
                if offsets:
                    with self._within(_OFFSETS_S):
                        self._producer.send_offsets_to_transaction(offsets, membership, _REQUEST_S)
                self._faults.at(BEFORE_KAFKA_COMMIT)
                self._commit()
            self._open = False
        except KafkaException as error:
            self._fail(error)

    def _write(self, messages: Sequence[Message]) -> None:
        for item in messages:
            produce(self._producer, item)
        # Flushed first: offsets sent while records are under way cost a wait of 100 ms.
        if messages and self._producer.flush(_REQUEST_S):
            self.abort()

    def _commit(self) -> None:
        for tries_left in reversed(range(_COMMIT_TRIES)):
            try:
                self._producer.commit_transaction(_REQUEST_S)
                return
            except KafkaException as error:
                # A commit that timed out may be asked for again, and for nothing else.
                if not detail(error).retriable():
                    raise
                if not tries_left:
                    raise Gone(f"commit: {code(error)}") from error

    def abort(self) -> None:
        """Abort what is open.

        Raises:
            UnknownOutcome: always; the caller resynchronises.
            Gone: the producer cannot be used.
        """
        try:
            self._finish_abort()
        except KafkaException as error:
            self._fail(error)
        raise UnknownOutcome("the Kafka transaction was aborted")

    def _finish_abort(self) -> None:
        if self._open:
            self._producer.abort_transaction(_REQUEST_S)
            self._open = False

    def _fail(self, error: KafkaException) -> None:
        if detail(error).fatal():
            raise Gone(code(error)) from error
        logger.warning("kafka transaction failed: %s", code(error))
        try:
            self._finish_abort()
        except KafkaException as again:
            if detail(again).fatal():
                raise Gone(code(again)) from again
            # Still open: the next transaction begins with ending this one.
            logger.warning("kafka abort failed: %s", code(again))
        raise UnknownOutcome(f"kafka: {code(error)}") from error
