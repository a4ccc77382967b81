"""The whole pipeline as a scenario of the harness: what is fed, when it is through, what must be equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as Raw

from consumers.indexer.sweep import drift
from consumers.purger.registry import Parts
from consumers.purger.sweep import strays
from deploy.audit.subject import what_is_left
from policy.verification import load_keys, verify
from schemas import datamap
from schemas.settings import Settings
from schemas.topics import CHANGES, RECEIPTS
from stores.database import connect
from stores.signing import public_keys_file
from stores.statehash import state_hash
from stores.vault import open_vault
from stores.vectors import VectorIndex
from streams import offsets
from streams.producer import publish
from streams.topics import admin_client
from tests import stack as embedded
from tests.chaos import talk
from tests.chaos.harness import obelus_run, until

NAMES = ("extractor", "gate", "resolver", "indexer", "purger")

_UNDER_WAY = """
SELECT (SELECT count(*) FROM outbox)
     + (SELECT count(*) FROM vectors WHERE state <> 'written')
     + (SELECT count(*) FROM memories m WHERE status = 'active' AND NOT EXISTS
        (SELECT FROM vectors v WHERE v.memory = m.id AND v.version = m.version))
     + (SELECT count(*) FROM erasures WHERE state NOT IN ('verified', 'final')),
    (SELECT count(*) FROM erasures)
"""
_EXPLAIN = """
SELECT (SELECT count(*) FROM outbox), (SELECT array_agg(state) FROM vectors), (SELECT array_agg(state) FROM erasures),
    (SELECT array_agg((entry, status, proven, target, reason)::text) FROM erasure_lines
     WHERE status IN ('open', 'expires') OR NOT proven @> target)
"""
_ONLINE = ("postgres", "qdrant", "redis", "vault")


class Pipeline:
    """One consumer is disturbed; the others are somebody else's business (`crew.Crew`)."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.argv: Sequence[str] = obelus_run(name)
        # Small batches, so that there are several of them between two faults.
        self.variables = {"OBELUS_BATCH": "4"}
        self._name = name
        # Asking makes a client for each group, so it is one client for all questions.
        self._admin = admin_client(settings)

    def feed(self, settings: Settings) -> None:
        """The deletion races what it deletes; the purger, when it is the one disturbed, has all of it to erase."""
        publish(settings, talk.conversation())
        if self._name == "purger":
            until(lambda: self.idle(settings), 60, lambda: f"there is something to erase; {self.explain(settings)}")
        publish(settings, [talk.deletion()])

    def settled(self, settings: Settings) -> bool:
        return self.idle(settings, erasures=1)

    def idle(self, settings: Settings, erasures: int = 0, names: Sequence[str] = NAMES) -> bool:
        """Whether nothing is under way to these consumers, and where that is all of them, nor in the tables."""
        with connect(settings.database, autocommit=True) as connection:
            left = offsets.lag(self._admin, connection)
            found = connection.execute(_UNDER_WAY).fetchone()
        through = not any(n for name in names for n in left[name].values())
        return through and (found == (0, erasures) or set(names) != set(NAMES))

    def explain(self, settings: Settings) -> str:
        with connect(settings.database, autocommit=True) as connection:
            left = offsets.lag(self._admin, connection)
            rows = connection.execute(_EXPLAIN).fetchall()
        return f"lag {left}; outbox, vectors, erasures, lines: {rows}"

    def state(self, settings: Settings) -> dict[str, Any]:
        return state(settings)


def empty(settings: Settings) -> None:
    """Empty what runs share: topics and index."""
    from streams.topics import apply

    embedded.delete_topics(settings)
    apply(settings)
    index = VectorIndex(settings)
    try:
        index.drop()
        index.ensure(384)
    finally:
        index.close()


def state(settings: Settings) -> dict[str, Any]:
    """Give the truth, the index and the proof, by content and without order."""
    with connect(settings.database, autocommit=True) as connection:
        vault = open_vault(settings)
        try:
            digest = state_hash(connection, vault)
        finally:
            vault.close()

        def ask(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

        points = ask("SELECT count(*) FROM memories WHERE status = 'active' GROUP BY subject")
        return {
            "hash": digest,
            "active": sorted(Counter(points).items()),
            "index": _index(settings),
            "drift": [found.kind for found in drift(settings)],
            "strays": _strays(settings),
            "dead": ask("SELECT consumer, reason FROM dead_letters ORDER BY 1, 2"),
            "found": ask("SELECT kind, count(*) FROM security_events GROUP BY 1 ORDER BY 1"),
            "unannounced": _unannounced(settings, ask("SELECT memory, version FROM memory_versions")),
            "gone": _gone(settings),
            "receipt": _receipt(
                settings,
                ask("SELECT envelope, evidence, erasure FROM receipts ORDER BY seq"),
                ask("SELECT body FROM outbox"),
            ),
        }


def _index(settings: Settings) -> int:
    index = VectorIndex(settings)
    try:
        return sum(len(page) for page in index.scroll())
    finally:
        index.close()


def _strays(settings: Settings) -> list[Any]:
    parts = Parts.open(settings)
    try:
        return [(stray.entry, stray.count) for stray in strays(parts)]
    finally:
        parts.close()


def _gone(settings: Settings) -> dict[str, Any]:
    left = what_is_left(settings, talk.TENANT, talk.GONE)
    return {
        "state": left["state"],
        "epoch": left["epoch"],
        "left": sum(left["counts"].values()) + sum(left["erased_but_there"].values()),
    }


def _receipt(settings: Settings, rows: list[tuple[Any, ...]], waiting: list[tuple[bytes]]) -> dict[str, Any]:
    """What the newest receipt says; how often it was superseded on the way there is a matter of timing."""
    chain = [row[0] for row in rows]
    trusted = load_keys(public_keys_file(settings).read_bytes())
    verdict = verify(chain[-1], trusted, evidence=rows[-1][1], chain=chain)
    lines = verdict.predicate["lines"]
    online = [line for line in lines if line["entry"].split(".")[0] in _ONLINE]
    # A newer one may be made at any time; it is out, or on its way.
    published = {item.value() for item in records(settings, RECEIPTS)} | {body for (body,) in waiting}
    return {
        "erasures": len({row[2] for row in rows}),
        "verified": verdict.valid,
        "missing": sorted(set(datamap.BY_NAME) - {line["entry"] for line in lines}),
        "unpublished": sum(envelope not in published for envelope in chain),
        # A deletion may overtake the turns that it deletes: then there is less to find.
        "left": [line["entry"] for line in online if line["status"] not in ("erased", "nothing_found")],
        "unproven": [line["entry"] for line in online if not {"absent", "fenced"} <= set(line["proven"])],
    }


def _unannounced(settings: Settings, versions: list[tuple[bytes, int]]) -> int:
    told = {(event.get("id"), event.get("version")) for event in map(_event, records(settings, CHANGES))}
    return sum((memory.hex(), version) not in told for memory, version in versions)


def _event(raw: Raw) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(raw.value() or b"{}")
    return found


def records(settings: Settings, topic: str) -> list[Raw]:
    """Give every committed record of a topic, in the order of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": settings.kafka,
            "group.id": "test-reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        parts = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, part, 0) for part in parts])
        found: list[Raw] = []
        ended: set[int | None] = set()
        while len(ended) < len(parts):
            item = consumer.poll(1)
            if item is not None and item.error():
                ended.add(item.partition())
            elif item is not None:
                found.append(item)
        return found
    finally:
        consumer.close()
