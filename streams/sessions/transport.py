"""Faust's Kafka transport, within the limits that design section 6 sets.

Three things are ours: records of aborted transactions are not read; after an assignment reading starts at the
position kept beside the windows where that lies before the committed one: Faust can commit past a record in work;
and how far the log was read is told, for the last offsets of a log may hold no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from faust.transport.drivers import aiokafka as driver
from faust.types import TP


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Reads committed records only."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # Faust asks for it in its exactly-once mode alone; the client reads the attribute when it starts.
        consumer._isolation_level = "read_committed"  # noqa: SLF001 - no setting leads there
        return consumer

    async def _fetch_records(self, consumer: Any, *given: Any, **more: Any) -> Any:
        records = await super()._fetch_records(consumer, *given, **more)
        # Without anything awaited in between: what lies before a position has been handed over by now.
        assignment = consumer._subscription.subscription.assignment  # noqa: SLF001 - its own question is asynchronous
        if assignment is not None:
            app: Any = self.app
            app.parts.fetched(
                {tp.partition: batch[-1].offset + 1 for tp, batch in records.items() if batch},
                {tp.partition: at.offset for tp, at in assignment.all_consumed_offsets().items()},
            )
        return records


class Consumer(driver.Consumer):
    """Starts at the lesser of the committed and the kept position."""

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek, and say where to."""
        start = dict(await super().seek_to_committed())
        app: Any = self.app
        kept: Mapping[TP, int] = await app.kept_positions(start)
        back = {tp: kept[tp] for tp, offset in start.items() if tp in kept and kept[tp] < (offset or 0)}
        if back:
            await self.seek_wait(back)
        start |= back
        app.parts.assigned({tp.partition: max(offset or 0, 0) for tp, offset in start.items()})
        return start


class Transport(driver.Transport):
    """The `kafka://` transport with our consumer."""

    Consumer: ClassVar[Any] = Consumer
