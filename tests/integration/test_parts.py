"""The fixture's own parts answer."""

from __future__ import annotations

import psycopg
import pytest
import redis
from confluent_kafka.admin import AdminClient
from qdrant_client import QdrantClient

from tests.stack import Stack

pytestmark = pytest.mark.integration


def test_every_part_answers_through_its_own_client(stack: Stack) -> None:
    settings = stack.settings
    assert AdminClient({"bootstrap.servers": settings.kafka}).list_topics(timeout=5).brokers
    with psycopg.connect(settings.database) as connection:
        assert connection.execute("SHOW max_locks_per_transaction").fetchone() == ("512",)
    with redis.Redis.from_url(settings.redis) as client:
        assert client.ping()
    client = QdrantClient(url=settings.qdrant)
    # Other tests of the session leave theirs here.
    assert isinstance(client.get_collections().collections, list)
    client.close()


def test_a_fresh_database_is_another_one(stack: Stack) -> None:
    first, second = stack.fresh(), stack.fresh()
    assert first.database != second.database
    assert first.redis != second.redis
    assert first.root_key_bytes() != second.root_key_bytes()
