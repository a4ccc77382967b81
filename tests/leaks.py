"""Looks for planted texts in every place that must hold none: topics, logs, metrics, tables, cache, index."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import redis
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from psycopg import sql

from deploy.audit.forms import forms
from deploy.audit.scan import written
from schemas.topics import TOPICS

Source = Iterable[tuple[str, bytes]]
"""Where something lies, and its bytes."""

INBOUND = frozenset(topic.name for topic in TOPICS if topic.inbound)


class Needles:
    """Texts in every form in which they could lie somewhere, an unkeyed hash of one included."""

    def __init__(self, *texts: str) -> None:
        self._forms: set[bytes] = set()
        for text in texts:
            plain = set(forms(text)) | {text.upper().encode(), text.encode("utf-16-le")}
            digests = {make(text.encode()).digest() for make in (hashlib.md5, hashlib.sha1, hashlib.sha256)}
            self._forms |= plain | digests | {form.hex().encode() for form in plain | digests}

    def found_in(self, source: Source) -> list[str]:
        """Name the places that hold one of them."""
        return sorted({where for where, held in source if any(form in held for form in self._forms)})


def our_topics(address: str) -> list[str]:
    """Every topic that others do not write, declared by us or not, without Kafka's own."""
    listed = AdminClient({"bootstrap.servers": address}).list_topics(timeout=10).topics
    return [name for name in listed if name not in INBOUND and not name.startswith("__")]


def topics(address: str, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Keys, headers and values of every record that is still in the log, committed or not."""
    config = {
        "bootstrap.servers": address,
        "group.id": "leaks",
        "enable.auto.commit": False,
        "isolation.level": "read_uncommitted",
        "enable.partition.eof": True,
    }
    consumer = Consumer(config)
    try:
        listed = consumer.list_topics(timeout=10).topics
        parts = [TopicPartition(name, number, OFFSET_BEGINNING) for name in names for number in listed[name].partitions]
        consumer.assign(parts)
        ended: set[tuple[str | None, int | None]] = set()
        while len(ended) < len(parts):
            record = consumer.poll(10)
            assert record is not None, "a partition neither gave a record nor ended"
            if record.error():
                ended.add((record.topic(), record.partition()))
                continue
            where = f"topic {record.topic()}"
            yield f"{where}: key", record.key() or b""
            yield f"{where}: value", record.value() or b""
            for name, value in record.headers() or ():
                yield f"{where}: header", name.encode() + b"=" + (value or b"")
    finally:
        consumer.close()


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Everything below a folder, names included."""
    for path in sorted(folder.rglob("*")):
        yield f"name in {folder.name}", str(path.relative_to(folder)).encode()
        if path.is_file():
            with path.open("rb") as file:
                parts = [os.pread(file.fileno(), end - start, start) for start, end in written(file.fileno())]
            yield f"file {path.name}", b"\0".join(parts)


def pages(addresses: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """What addresses answer, headers included."""
    with httpx.Client(timeout=30, trust_env=False) as client:
        for address in addresses:
            answer = client.get(address)
            yield f"page {httpx.URL(address).path}", answer.content + str(answer.headers).encode()


def tables(connection: psycopg.Connection) -> Iterator[tuple[str, bytes]]:
    """Every table as text and as the bytes that it holds; the names in the catalogue too."""
    named = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT LIKE 'pg_%'"
    for schema, name in connection.execute(named).fetchall():
        if schema == "information_schema":
            continue
        for form in ("text", "binary"):
            query = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT {})").format(
                sql.Identifier(schema, name), sql.SQL(form)
            )
            with connection.cursor().copy(query) as copy:
                yield f"table {name}", b"".join(map(bytes, copy))


def cache(address: str) -> Iterator[tuple[str, bytes]]:
    """Keys of every kind and their values, as the cache itself writes them out."""
    with redis.Redis.from_url(address) as client:
        for key in client.scan_iter(count=1000):
            yield "cache: key", key
            kind = client.type(key)
            read = {
                b"string": lambda key: [client.get(key)],
                b"list": lambda key: client.lrange(key, 0, -1),
                b"set": lambda key: client.smembers(key),
                b"zset": lambda key: client.zrange(key, 0, -1),
                b"hash": lambda key: [part for pair in client.hgetall(key).items() for part in pair],
            }[kind]
            for value in read(key):
                yield f"cache: {kind.decode()}", value or b""


def index(address: str) -> Iterator[tuple[str, bytes]]:
    """Every point of every collection, as the server answers it, and what it says of the collections."""
    with closing(httpx.Client(base_url=address, timeout=30, trust_env=False)) as client:
        listed = client.get("/collections")
        yield "index: collections", listed.content
        for one in listed.json()["result"]["collections"]:
            yield "index: collection", client.get(f"/collections/{one['name']}").content
            page = None
            while True:
                asked = {"limit": 500, "offset": page, "with_payload": True}
                answer = client.post(f"/collections/{one['name']}/points/scroll", json=asked).json()["result"]
                yield "index: points", json.dumps(answer["points"], ensure_ascii=False).encode()
                page = answer.get("next_page_offset")
                if page is None:
                    break
