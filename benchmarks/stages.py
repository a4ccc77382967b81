"""Where extractor and gate spend a turn: µs by stage, on a PostgreSQL of its own, without Kafka.

Usage: ``python -m benchmarks.stages FILE [--turns N] [--batch N] [--yielding]``. A file holds one JSON object a line
with ``user``, ``conversation``, ``role``, ``text`` and ``at``; it is repeated under fresh users and message ids.
``--yielding`` makes every turn yield one candidate.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson

from benchmarks.stack import home
from consumers.contract import BaseConsumer
from consumers.extractor.consumer import Extractor
from consumers.gate.consumer import Gate
from deploy import homekeys
from deploy.embedded.part import start_all, stop_all
from deploy.embedded.postgres import Postgres
from deploy.parts import place
from schemas.settings import Settings
from schemas.topics import CANDIDATES, TURNS
from stores.database import Connection, connect
from stores.migrate import migrate
from streams.codec import Message, Position, Record

_WARM_BATCHES = 2
T = TypeVar("T")


class Stages:
    """Wall and processor seconds by stage."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def run(self, stage: str, work: Callable[..., T], *given: Any) -> T:
        """Do work and book its time."""
        wall, processor = time.perf_counter(), time.process_time()
        done = work(*given)
        booked = self.spent[stage]
        booked[0] += time.perf_counter() - wall
        booked[1] += time.process_time() - processor
        return done

    def show(self, name: str, count: int) -> None:
        """Print µs a record."""
        total = [sum(times) for times in zip(*self.spent.values(), strict=True)]
        for stage, (wall, processor) in [*self.spent.items(), ("total", total)]:
            print(f"{name} {stage:8} {wall / count * 1e6:7.1f} µs, of them here {processor / count * 1e6:7.1f}")


def drive(consumer: BaseConsumer[Any, Any, Any], tx: Connection, records: Sequence[Record], size: int) -> list[Message]:
    """Take records through a consumer as the worker would, and return what it would publish."""
    stages = Stages()
    said: list[Message] = []
    for start in range(0, len(records), size):
        if start == _WARM_BATCHES * size:
            stages = Stages()
        ready = stages.run("prepare", consumer.prepare, records[start : start + size])
        state = stages.run("load", consumer.load, tx, ready)
        result = stages.run("decide", consumer.decide, ready, state)
        stages.run("store", consumer.store, tx, result)
        stages.run("commit", tx.commit)
        said += stages.run("publish", consumer.publish, result)
    stages.show(consumer.name, max(1, len(records) - _WARM_BATCHES * size))
    return said


def turns(file: Path, count: int, yielding: bool) -> Iterator[Record]:
    """Repeat a conversation file under fresh users and message ids."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    now_ms = int(time.time() * 1000)
    for number in range(count):
        line = lines[number % len(lines)]
        subject = f"{line['user']}-{number // len(lines)}"
        said = {"role": line["role"], "text": line["text"]}
        if yielding:
            said = {"role": "user", "text": f"Please remember that I like tea number {number}."}
        event = {"tenant": "bench", "subject": subject, "conversation": line["conversation"], "at": line["at"]}
        value = orjson.dumps({**event, "message_id": f"m{number}", **said})
        yield Record(Position(1, 0, number), TURNS, "org.obelus.turn.v1", str(number), "", value, now_ms)


@contextmanager
def database(folder: Path) -> Iterator[Settings]:
    """A migrated PostgreSQL in ``folder``, with the two logs entered."""
    part = Postgres(place(folder))
    homekeys.ensure(Settings(home=folder))
    start_all([part], lambda _: None)
    try:
        settings = Settings(home=folder, database=part.address)
        migrate(settings.database)
        with closing(connect(settings.database, autocommit=True)) as connection:
            for topic in (TURNS, CANDIDATES):
                connection.execute("INSERT INTO logs (topic, topic_id) VALUES (%s, %s)", (topic, topic))
        yield settings
    finally:
        stop_all([part])


def main() -> None:
    """Run both consumers over one file and print their stages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--turns", type=int, default=12_000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--yielding", action="store_true")
    wanted = parser.parse_args()
    with ExitStack() as stack:
        settings = stack.enter_context(database(stack.enter_context(home())))
        extractor, gate = (stack.enter_context(closing(make(settings))) for make in (Extractor, Gate))
        tx = stack.enter_context(closing(connect(settings.database)))
        said = drive(extractor, tx, list(turns(wanted.file, wanted.turns, wanted.yielding)), wanted.batch)
        announced = [
            Record(Position(2, 0, number), item.topic, item.type, item.event_id, item.key, item.body, 0)
            for number, item in enumerate(said)
        ]
        print(f"{wanted.turns} turns, {len(announced)} candidates")
        # Few candidates come of a conversation: smaller batches, so that some are left to measure.
        drive(gate, tx, announced, max(1, min(wanted.batch, len(announced) // 10)))


if __name__ == "__main__":
    main()
