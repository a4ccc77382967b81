"""The declared topics, applied to a broker; what differs there is said, not changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from schemas.errors import PartUnavailable
from schemas.settings import Settings
from schemas.topics import (
    ACKS,
    CANDIDATES,
    CHANGES,
    DECISIONS,
    DELETIONS,
    DERIVATIONS,
    TOPICS,
    TURNS,
    Topic,
)
from streams.client import Admin, detail, unavailable

SUBSCRIPTIONS: dict[str, tuple[str, ...]] = {
    "extractor": (TURNS,),
    "gate": (CANDIDATES,),
    "resolver": (DECISIONS,),
    "indexer": (CHANGES,),
    "purger": (DELETIONS, DERIVATIONS, ACKS),
}
"""Who reads what, for everybody who asks about lag without importing the consumers."""

_TIMEOUT = 15.0


def admin_client(settings: Settings) -> Admin:
    """Make an admin client."""
    return Admin(settings)


def apply(settings: Settings) -> list[str]:
    """Create what is missing and report what differs; safe to repeat.

    Returns:
        One line for each topic created (``created NAME``) and each difference (``drift NAME …``).

    Raises:
        PartUnavailable: the broker cannot be reached or refuses a topic.
    """
    with admin_client(settings) as admin:
        try:
            made = set(_create(admin, TOPICS))
            _await(admin, made)
            drift = _drift(admin, [topic for topic in TOPICS if topic.name not in made])
            return [f"created {topic.name}" for topic in TOPICS if topic.name in made] + list(drift)
        except KafkaException as error:
            raise unavailable(error) from error


def _create(admin: AdminClient, topics: Iterable[Topic]) -> Iterator[str]:
    wanted = [
        # -1: the broker's own default for copies, one on the embedded stack.
        NewTopic(topic.name, topic.partitions, replication_factor=-1, config=topic.config)
        for topic in topics
    ]
    for name, future in admin.create_topics(wanted, operation_timeout=_TIMEOUT).items():
        try:
            future.result()
            yield name
        except KafkaException as error:
            if detail(error).code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _await(admin: AdminClient, names: set[str]) -> None:
    """Wait until new topics can be used: the broker learns of them after the controller."""
    deadline = time.monotonic() + _TIMEOUT
    while True:
        known = admin.list_topics(timeout=_TIMEOUT).topics
        if all(name in known and _led(known[name]) for name in names):
            return
        if time.monotonic() > deadline:
            raise PartUnavailable("kafka: new topics have no leader")
        time.sleep(0.02)


def _led(topic: TopicMetadata) -> bool:
    return topic.error is None and all(part.leader >= 0 for part in topic.partitions.values())


def _drift(admin: AdminClient, topics: Iterable[Topic]) -> Iterator[str]:
    declared = {topic.name: topic for topic in topics}
    if not declared:
        return
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in declared]
    partitions = admin.list_topics(timeout=_TIMEOUT).topics
    for resource, future in admin.describe_configs(resources).items():
        topic, found = declared[resource.name], future.result()
        have = len(partitions[topic.name].partitions) if topic.name in partitions else 0
        if have != topic.partitions:
            yield f"drift {topic.name} partitions: declared {topic.partitions}, found {have}"
        for key, value in topic.config.items():
            if found[key].value != value:
                yield f"drift {topic.name} {key}: declared {value}, found {found[key].value}"


def topic_ids(admin: AdminClient, names: Iterable[str] | None = None) -> dict[str, str]:
    """Give Kafka's own id of each named topic (all of ours by default) that exists.

    Raises:
        PartUnavailable: the broker cannot be reached.
    """
    return {name: identity for name, (identity, _) in described(admin, names).items()}


Description = dict[str, tuple[str, list[int]]]
"""Kafka's own id and the partitions, by topic."""


def described(admin: AdminClient, names: Iterable[str] | None = None) -> Description:
    """Give id and partitions of each named topic (all of ours by default) that exists.

    Raises:
        PartUnavailable: the broker cannot be reached.
    """
    return describing(admin, names)()


def describing(admin: AdminClient, names: Iterable[str] | None = None) -> Callable[[], Description]:
    """Ask as `described` does; what is returned waits for the answer."""
    wanted = list(names) if names is not None else [topic.name for topic in TOPICS]
    try:
        futures = admin.describe_topics(TopicCollection(wanted), request_timeout=_TIMEOUT)
    except KafkaException as error:
        raise unavailable(error) from error

    def answer() -> Description:
        try:
            told = {name: _one(future) for name, future in futures.items()}
        except KafkaException as error:
            raise unavailable(error) from error
        return {
            name: (str(one.topic_id), [part.id for part in one.partitions])
            for name, one in told.items()
            if one is not None
        }

    return answer


def _one(future: Future[Any]) -> Any:
    try:
        return future.result()
    except KafkaException as error:
        if detail(error).code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        raise


def require_ids(admin: AdminClient, names: Iterable[str]) -> dict[str, str]:
    """Give the ids of topics that must exist.

    Raises:
        PartUnavailable: one is missing (yet), or the broker cannot be reached.
    """
    wanted = list(names)
    found = topic_ids(admin, wanted)
    absent = sorted(set(wanted) - set(found))
    if absent:
        raise PartUnavailable(f"no topic {', '.join(absent)}: run `obelus topics apply`")
    return found
