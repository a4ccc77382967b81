"""Topics, producers, offsets and reading on a real broker."""

from __future__ import annotations

import subprocess
import sys

import pytest
from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from schemas.settings import Settings
from schemas.topics import TOPICS, TURNS
from stores.database import connect
from streams import offsets, topics
from streams.client import Admin
from streams.codec import Message, decode, record
from streams.producer import Publisher, publish, transactional
from streams.reading import Reader
from tests.chaos.harness import until
from tests.chaos.test_worker import turn

pytestmark = pytest.mark.integration


@pytest.fixture
def admin(fresh_settings: Settings, topics: None) -> Admin:
    return Admin(fresh_settings)


def test_applying_again_changes_nothing_and_names_what_differs(fresh_settings: Settings, admin: Admin) -> None:
    assert topics.apply(fresh_settings) == []
    entry = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TURNS, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()
    drift = ["drift memory.turns retention.ms: declared 604800000, found 1000"]
    until(lambda: topics.apply(fresh_settings) == drift, 5, "the broker hears of it from the controller")


def test_every_topic_has_an_id(admin: Admin) -> None:
    ids = topics.topic_ids(admin)
    assert set(ids) == {topic.name for topic in TOPICS}
    assert len(set(ids.values())) == len(TOPICS)
    assert topics.topic_ids(admin, ["no.such.topic"]) == {}


def test_a_key_goes_where_every_java_client_puts_it(fresh_settings: Settings, admin: Admin) -> None:
    # murmur2 of these keys, modulo four partitions, as Kafka's own tests for its hash give it.
    expected = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}
    for key, value in expected.items():
        publish(fresh_settings, [Message(TURNS, key, "t", "e", b"{}")])
        part = (value & 0x7FFFFFFF) % 4
        ends = {end.part: end.high for end in offsets.log_ends(admin, [TURNS])}
        assert ends[part] >= 1, key


_LEAVE_NOTHING = """
import gc, sys, psutil
from schemas.settings import Settings
from streams.topics import admin_client, apply, topic_ids
from streams.offsets import group_positions
gc.disable()
settings = Settings(kafka=sys.argv[1])
before = psutil.Process().num_threads()
apply(settings)
with admin_client(settings) as admin:
    assert topic_ids(admin) and group_positions(admin, "obelus-nobody") == {}
    assert psutil.Process().num_threads() > before
admin.close()
assert psutil.Process().num_threads() == before, "a client is left to the collector"
"""


def test_no_client_is_left_to_the_collector(fresh_settings: Settings) -> None:
    """Where that runs in a callback of the very client, librdkafka ends the process."""
    subprocess.run([sys.executable, "-c", _LEAVE_NOTHING, fresh_settings.kafka], check=True, timeout=60)


def test_the_largest_record_arrives_and_a_larger_one_is_refused(fresh_settings: Settings, admin: Admin) -> None:
    publisher = Publisher(fresh_settings)
    assert publisher.send([Message(TURNS, "k", "t", "e", b"x" * ((16 << 20) - 1024))]) == 1
    with pytest.raises(Exception, match="MSG_SIZE_TOO_LARGE"):
        publisher.send([Message(TURNS, "k", "t", "e", b"x" * (17 << 20))])


def test_committed_offsets_of_a_group_that_has_no_member(fresh_settings: Settings, admin: Admin) -> None:
    assert offsets.group_positions(admin, "obelus-nobody") == {}
    publish(fresh_settings, [turn(1)])
    [end] = [end for end in offsets.log_ends(admin, [TURNS]) if end.high]
    from confluent_kafka import Consumer

    reader = Consumer({"bootstrap.servers": fresh_settings.kafka, "group.id": "obelus-somebody"})
    reader.commit(offsets=[TopicPartition(TURNS, end.part, 1)], asynchronous=False)
    reader.close()
    assert offsets.group_positions(admin, "obelus-somebody") == {(TURNS, end.part): 1}


def test_lag_counts_what_is_stored_and_not_published(fresh_settings: Settings, admin: Admin) -> None:
    publish(fresh_settings, [turn(number) for number in range(20)])
    with connect(fresh_settings.database, autocommit=True) as connection:
        lag = offsets.lag(admin, connection)
    assert lag["extractor"] == {TURNS: 20}
    assert set(lag) == set(topics.SUBSCRIPTIONS)


def test_a_record_is_read_by_its_position(fresh_settings: Settings, admin: Admin) -> None:
    publish(fresh_settings, [turn(number, subjects=1) for number in range(5)])
    [end] = [end for end in offsets.log_ends(admin, [TURNS]) if end.high]
    with Reader(fresh_settings) as reader:
        found = reader.at(TURNS, end.part, 3)
        assert found is not None
        assert decode(record(found, 1)).message_id == "m3"  # type: ignore[attr-defined]
        assert reader.at(TURNS, end.part, 99) is None
        assert reader.at(TURNS, end.part, 0) is not None


def test_a_second_producer_of_a_slot_fences_the_first(fresh_settings: Settings, admin: Admin) -> None:
    from confluent_kafka import KafkaException

    first = transactional(fresh_settings, "toy", "obelus-toy-0")
    first.init_transactions(10)
    first.begin_transaction()
    first.produce(TURNS, b"{}", key="k")
    first.flush(5)
    second = transactional(fresh_settings, "toy", "obelus-toy-0")
    second.init_transactions(10)
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(10)
    assert fenced.value.args[0].fatal()
    assert fenced.value.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
