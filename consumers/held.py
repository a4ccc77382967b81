"""Partitions that are held, and batches of their records."""

from __future__ import annotations

from dataclasses import dataclass, field

from confluent_kafka import TopicPartition

from consumers.positions import Move
from streams.codec import Record


class Gone(Exception):
    """The Kafka client is of no further use; the process ends and is started again."""


@dataclass(eq=False, slots=True)
class Held:
    """One assignment of one partition.

    Attributes:
        topic: the topic's name.
        part: the partition.
        log: number of the log, known once ready.
        next: the stored position as this worker last read or wrote it.
        reached: the offset after what intake has taken, control records passed over.
        ready: whether its records are taken.
    """

    topic: str
    part: int
    log: int = -1
    next: int = -1
    reached: int = -1
    ready: bool = False

    def at(self, offset: int) -> TopicPartition:
        """This partition with an offset, as the client wants it."""
        return TopicPartition(self.topic, self.part, offset)


@dataclass(slots=True)
class Batch:
    """Records of one turn of the loop, in the order of each partition, and where they lead.

    ``nexts`` may lead past the last record: over control records and aborted transactions.
    """

    records: list[Record] = field(default_factory=list)
    nexts: dict[Held, int] = field(default_factory=dict)

    def moves(self) -> list[Move]:
        """The compare-and-set that this batch stands for."""
        return [Move(held.log, held.part, held.next, to) for held, to in self.nexts.items()]

    def moved(self) -> None:
        """Note that the positions are stored."""
        for held, to in self.nexts.items():
            held.next = to

    def offsets(self) -> list[TopicPartition]:
        """What to commit to Kafka: the stored positions."""
        return [held.at(held.next) for held in self.nexts]

    def held(self) -> Batch:
        """What is left of it now that partitions may have gone."""
        kept = {held: to for held, to in self.nexts.items() if held.ready}
        places = {(held.log, held.part) for held in kept}
        return Batch([item for item in self.records if item.position[:2] in places], kept)

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches which, one after the other, are this one."""
        middle = len(self.records) // 2
        first = self._part(self.records[:middle])
        rest = Batch(self.records[middle:], dict(self.nexts))
        return first, rest

    def _part(self, records: list[Record]) -> Batch:
        by_place = {(held.log, held.part): held for held in self.nexts}
        return Batch(records, {by_place[at[:2]]: at.pos + 1 for at in (r.position for r in records)})
