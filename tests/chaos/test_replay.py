"""Replay drill: after a purge positions go back to zero and whole topics are published again; nothing returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition

from schemas.settings import Settings
from schemas.topics import CANDIDATES, CHANGES, DECISIONS, DELETIONS, TURNS
from stores.database import connect
from streams import offsets
from streams.producer import producer_config, publish
from streams.topics import SUBSCRIPTIONS, admin_client
from tests.chaos import talk
from tests.chaos.crew import Crew
from tests.chaos.harness import until
from tests.chaos.pipeline import NAMES, Pipeline, empty, records, state
from tests.stack import Stack

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.slow]

_POSITIONS = "SELECT consumer, log, part, next FROM positions ORDER BY 1, 2, 3"


@dataclass
class Lived:
    """A pipeline that was talked to, has erased somebody, and has met that person again."""

    settings: Settings
    state: dict[str, Any]

    def positions(self) -> dict[tuple[str, int, int], int]:
        with connect(self.settings.database, autocommit=True) as connection:
            rows = connection.execute(_POSITIONS).fetchall()
        return {(name, log, part): following for name, log, part, following in rows}

    def set_back(self, names: Sequence[str]) -> None:
        """Stored and committed positions of these consumers to zero; none of them runs."""
        with connect(self.settings.database, autocommit=True) as connection:
            connection.execute("UPDATE positions SET next = 0 WHERE consumer = ANY(%s)", (list(names),))
        admin = admin_client(self.settings)
        for name in names:
            parts = [TopicPartition(end.topic, end.part, 0) for end in offsets.log_ends(admin, SUBSCRIPTIONS[name])]
            group = offsets.group_id(name)
            admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, parts)])[group].result(10)

    def again(self, topics: Sequence[str]) -> int:
        """Publish every record of these topics once more, byte by byte."""
        producer = Producer(producer_config(self.settings, "again"))
        count = 0
        for topic in topics:
            for item in records(self.settings, topic):
                producer.produce(topic, item.value(), key=item.key(), headers=item.headers())
                count += 1
        assert producer.flush(30) == 0
        return count

    def catch_up(self, least: dict[tuple[str, int, int], int]) -> dict[str, Any]:
        """Run everybody until all is read again, and give what is there then."""
        scenario = Pipeline("", self.settings)

        def through() -> bool:
            now = self.positions()
            return all(now[place] >= following for place, following in least.items()) and scenario.settled(
                self.settings
            )

        with Crew(self.settings, NAMES):
            until(through, 90, lambda: scenario.explain(self.settings))
            return state(self.settings)


def _live(stack: Stack, migrated: str, turns_log: str) -> Lived:
    settings = stack.fresh(template=migrated).model_copy(update={"turns_log": turns_log})
    empty(settings)
    scenario = Pipeline("purger", settings)
    with Crew(settings, NAMES):
        scenario.feed(settings)
        until(lambda: scenario.settled(settings), 90, lambda: scenario.explain(settings))
        publish(settings, [talk.turn(talk.GONE, "I love figs.", "gone-anew", datetime.now(UTC))])
        until(lambda: scenario.settled(settings), 90, lambda: scenario.explain(settings))
        if turns_log == "exclusive":
            until(lambda: _cut(settings), 60, "the inbound log is cut")
        lived = Lived(settings, state(settings))
    assert lived.state["gone"]["state"] == "live" and lived.state["gone"]["epoch"] == 2
    assert lived.state["drift"] == lived.state["strays"] == lived.state["dead"] == []
    return lived


def _cut(settings: Settings) -> bool:
    """Whether nothing of the first life is left in the log."""
    return not any(b"Gina" in (item.value() or b"") for item in records(settings, TURNS))


@pytest.fixture(scope="module")
def lived(stack: Stack, migrated: str) -> Iterator[Lived]:
    """With logs that others read too, so that everything is still in them."""
    lived = _live(stack, migrated, "shared")
    assert not _cut(lived.settings)
    yield lived


@pytest.mark.parametrize("names", [*([name] for name in NAMES), NAMES], ids="+".join)
def test_positions_set_back_to_zero(lived: Lived, names: Sequence[str]) -> None:
    reached = lived.positions()
    lived.set_back(names)
    assert {name for (name, _, _), following in lived.positions().items() if following == 0} >= set(names)
    assert lived.catch_up(reached) == lived.state


@pytest.mark.parametrize(
    "topics", [[TURNS], [DELETIONS], [CANDIDATES, DECISIONS, CHANGES], [TURNS, DELETIONS]], ids="+".join
)
def test_topics_published_again(lived: Lived, topics: Sequence[str]) -> None:
    assert lived.again(topics)
    assert lived.catch_up(lived.positions()) == lived.state


def test_published_again_and_set_back(lived: Lived) -> None:
    """Old records before and after the fence, all of them read from the beginning."""
    reached = lived.positions()
    lived.again([TURNS, DELETIONS])
    lived.set_back(NAMES)
    assert lived.catch_up(reached) == lived.state


def test_set_back_where_the_log_was_cut(stack: Stack, migrated: str) -> None:
    lived = _live(stack, migrated, "exclusive")
    reached = lived.positions()
    lived.set_back(NAMES)
    assert lived.catch_up(reached) == lived.state
