"""The other endpoints: lists, orders, deletion requests, exports; and what happens when parts hang."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from benchmarks.memories import Loader, Seed
from recall.api.context import Context
from recall.breaker import Breaker
from recall.pool import reading_pool
from recall.search import Parts
from schemas.settings import Settings
from schemas.topics import DELETIONS, TURNS
from schemas.words import MemoryStatus
from stores.vectors import VectorIndex
from tests.integration.recall.conftest import bearer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def ids(loader: Loader) -> dict[str, str]:
    seeds = [
        Seed("ana", "editor", "Helix"),
        Seed("ana", "language", "Go", status=MemoryStatus.SUGGESTED),
        Seed("bo", "editor", "Emacs"),
        Seed("ana", "editor", "Nano", tenant="other"),
    ]
    return dict(zip(("active", "suggested", "bo", "other"), (one.hex() for one in loader.load(seeds)), strict=True))


def records(settings: Settings, topic: str) -> list[dict[str, Any]]:
    """Everything on a topic."""
    consumer = Consumer({"bootstrap.servers": settings.kafka, "group.id": "test-look", "enable.auto.commit": False})
    parts = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    found = []
    for part in parts:
        place = TopicPartition(topic, part)
        low, high = watermarks(consumer, place)
        if high > low:
            consumer.assign([TopicPartition(topic, part, low)])
            while len(batch := consumer.consume(high - low, 5)) == 0:
                pass
            found += [{"key": one.key(), **orjson.loads(one.value() or b"")} for one in batch]
    consumer.close()
    return found


def watermarks(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """Ends of a partition that may have been made a moment ago."""
    until = time.monotonic() + 90
    while True:
        try:
            return consumer.get_watermark_offsets(place, timeout=30)
        except KafkaException:
            assert time.monotonic() < until
            time.sleep(0.1)


class TestReading:
    def test_lists_show_active_ones_and_all_to_the_person_only(self, api: httpx.Client, ids: dict[str, str]) -> None:
        def listed(token: str, **query: str) -> set[str]:
            found = api.get("/v1/memories", params=query, headers=bearer(token)).json()["memories"]
            return {memory["id"] for memory in found}

        assert listed("t-ana") == {ids["active"]}
        assert listed("t-ana", all="true") == {ids["active"], ids["suggested"]}
        assert listed("t-agent", subject="ana", all="true") == {ids["active"]}
        assert listed("t-operator", subject="nobody") == set()

    def test_one_memory_is_shown_to_whom_it_may_be(self, api: httpx.Client, ids: dict[str, str]) -> None:
        def status(token: str, memory: str) -> int:
            return api.get(f"/v1/memories/{memory}", headers=bearer(token)).status_code

        assert status("t-agent", ids["active"]) == status("t-ana", ids["suggested"]) == 200
        assert status("t-agent", ids["suggested"]) == 404
        # Another person's and another tenant's look like none at all.
        assert status("t-ana", ids["bo"]) == status("t-agent", ids["other"]) == status("t-agent", "00" * 16) == 404
        assert status("t-agent", "nonsense") == status("t-agent", "*") == 404

    def test_scope_of_queries_is_the_tokens(self, api: httpx.Client, ids: dict[str, str]) -> None:
        for path in ("/v1/memories", "/v1/export"):
            assert api.get(path, params={"subject": "bo"}, headers=bearer("t-ana")).status_code == 403
            assert api.get(path, params={"subject": "*"}, headers=bearer("t-operator")).status_code == 422

    def test_an_export_is_whole_and_counted(self, api: httpx.Client, ids: dict[str, str]) -> None:
        api.post("/v1/recall", json={"query": "which editor"}, headers=bearer("t-ana"))
        found = api.get("/v1/export", headers=bearer("t-ana")).json()
        assert {memory["id"] for memory in found["memories"]} == {ids["active"], ids["suggested"]}
        assert found["manifest"]["memories"] == 2
        assert all(len(found[name]) == count for name, count in found["manifest"].items())
        assert "which editor" in [trace["query"] for trace in found["traces"]]
        assert "Emacs" not in str(found)

    def test_an_export_has_every_table_of_the_data_map(self) -> None:
        from recall.export import CLASSES
        from schemas.datamap import TABLES

        named = {"versions": "memory_versions"}
        # Lineage is ids between what is listed anyway.
        assert {named.get(name, name) for name in CLASSES} - {"authored"} >= set(TABLES) - {"lineage"} | {"artefacts"}

    def test_keys_and_unknown_erasures(self, api: httpx.Client) -> None:
        assert "PUBLIC KEY" in api.get("/v1/keys", headers=bearer("t-agent")).json()["keys"][0]["pem"]
        for path in ("/v1/erasures/nobody", f"/v1/receipts/{'00' * 16}"):
            assert api.get(path, headers=bearer("t-compliance")).status_code == 404

    def test_health_and_metrics_need_no_token_and_name_nobody(self, api: httpx.Client, ids: dict[str, str]) -> None:
        api.post("/v1/recall", json={"subject": "ana", "query": "canary"}, headers=bearer("t-agent"))
        assert api.get("/healthz").status_code == api.get("/readyz").status_code == 200
        shown = api.get("/metrics").text
        assert 'obelus_events_total{consumer="recall",outcome="answered"}' in shown
        assert "canary" not in shown
        assert "ana" not in shown.replace("manager", "")

    def test_it_describes_itself(self, api: httpx.Client) -> None:
        paths = api.get("/openapi.json").json()["paths"]
        assert {"/v1/recall", "/v1/forget", "/v1/controls", "/v1/memories/{memory}", "/v1/keys"} <= set(paths)


class TestWriting:
    """Nobody consumes here: an order is in the log and said to be not applied yet."""

    def test_a_control_is_an_event(self, api: httpx.Client, settings: Settings, topics: None) -> None:
        body = {"action": "pause", "request_id": "r-1", "actor": "operator", "metadata": {"subject": "bo"}}
        answer = api.post("/v1/controls", json=body, headers=bearer("t-ana"))
        assert (answer.status_code, answer.json()["applied"]) == (202, False)
        (found,) = records(settings, TURNS)
        assert (found["key"], found["tenant"], found["subject"]) == (b"default:ana", "default", "ana")
        assert (found["actor"], found["request_id"], found["action"]) == ("person", "r-1", "pause")

    def test_orders_outside_the_scope_never_reach_the_log(
        self, api: httpx.Client, settings: Settings, topics: None
    ) -> None:
        refused = [
            ("/v1/controls", {"action": "pause", "subject": "bo"}, "t-ana"),
            ("/v1/controls", {"action": "pause", "subject": "ana"}, "t-agent"),
            ("/v1/controls", {"action": "pause", "subject": "ana", "tenant": "other"}, "t-operator"),
            ("/v1/forget", {"subject": "bo"}, "t-ana"),
            ("/v1/forget", {"selector": {"kind": "subject", "subject": "bo"}}, "t-ana"),
            ("/v1/forget", {"subject": "ana", "selector": {"kind": "subject", "subject": "bo"}}, "t-ana"),
            ("/v1/forget", {"selector": {"kind": "tenant"}}, "t-ana"),
            ("/v1/forget", {"selector": {"kind": "tenant"}, "tenant": "other"}, "t-compliance"),
            ("/v1/forget", {"subject": "ana"}, "t-agent"),
        ]
        for path, body, token in refused:
            assert api.post(path, json=body, headers=bearer(token)).status_code == 403, body
        planless = {"selector": {"kind": "tenant"}}
        assert api.post("/v1/forget", json=planless, headers=bearer("t-compliance")).status_code == 422
        assert api.get("/v1/memories?subject=ana&tenant=other", headers=bearer("t-operator")).status_code == 403
        malformed = [
            ("/v1/controls", {"action": "confirm"}),
            ("/v1/controls", {"action": "obey"}),
            ("/v1/forget", {"selector": {"kind": "message", "subject": "ana"}}),
            ("/v1/forget", {"subject": "*"}),
            ("/v1/forget", {}),
        ]
        for path, wrong in malformed:
            answer = api.post(path, json={"subject": "ana"} | wrong if wrong else wrong, headers=bearer("t-operator"))
            assert answer.status_code == 422, wrong
        assert records(settings, TURNS) == records(settings, DELETIONS) == []

    def test_forget_draws_a_nonce_and_asks_for_the_tokens_subject(
        self, api: httpx.Client, settings: Settings, topics: None
    ) -> None:
        answer = api.post("/v1/forget", json={}, headers=bearer("t-ana"))
        said = answer.json()
        assert (answer.status_code, said["applied"], said["state"]) == (202, False, None)
        (found,) = records(settings, DELETIONS)
        assert found["selector"] == {"kind": "subject", "subject": "ana"}
        assert (found["nonce"], found["request_id"]) == (said["nonce"], said["request_id"])
        assert (found["tenant"], found["requested_by"]) == ("default", "person")


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def fresh_breakers(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_search", "_embed", "_truth"):
        monkeypatch.setattr(context.recall, name, Breaker())


@pytest.mark.usefixtures("fresh_breakers")
class TestSlowParts:
    """R8: never an error, and soon not even a wait."""

    def ask(self, api: httpx.Client) -> tuple[dict[str, Any], float]:
        start = time.monotonic()
        answer = api.post("/v1/recall", json={"subject": "ana", "query": "editor"}, headers=bearer("t-agent"))
        assert answer.status_code == 200
        return answer.json(), time.monotonic() - start

    def test_an_index_that_hangs(
        self, api: httpx.Client, context: Context, ids: dict[str, str], black_hole: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parts = context.recall._parts
        index = VectorIndex(context.settings.model_copy(update={"qdrant": black_hole}), timeout=1)
        monkeypatch.setattr(
            context.recall,
            "_parts",
            Parts(parts.pool, parts.vault, index, parts.embedder, parts.policy, parts.windows),
        )
        for _ in range(3):
            found, seconds = self.ask(api)
            assert (found["items"], found["degraded"]) == ([], True)
            assert seconds < 10
        self.without_a_wait(api)

    def without_a_wait(self, api: httpx.Client) -> None:
        """A busy machine may be late, not five times in a row."""
        answers = [self.ask(api) for _ in range(5)]
        assert all(found["degraded"] for found, _ in answers)
        assert min(seconds for _, seconds in answers) < 0.2

    def test_a_truth_that_hangs(
        self,
        api: httpx.Client,
        context: Context,
        loader: Loader,
        ids: dict[str, str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        pool = reading_pool(context.settings.database, 2)
        monkeypatch.setattr(context.recall, "_parts", replace(context.recall._parts, pool=pool))
        loader.connection.execute("LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")
        try:
            for _ in range(3):
                found, seconds = self.ask(api)
                assert (found["items"], found["degraded"]) == ([], True)
                assert seconds < 10
            self.without_a_wait(api)
        finally:
            loader.connection.rollback()
            pool.close()

    def test_many_at_once_get_their_own(self, api: httpx.Client, loader: Loader) -> None:
        people = [f"many{n}" for n in range(20)]
        loader.load([Seed(who, "editor", f"editor of {who}") for who in people])
        url = str(api.base_url)
        lock, wrong = threading.Lock(), []

        def ask(who: str) -> None:
            with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
                for _ in range(5):
                    body = {"subject": who, "query": "editor"}
                    found = client.post("/v1/recall", json=body, headers=bearer("t-agent")).json()
                    values = [item["value"] for item in found["items"]]
                    if values != [f"editor of {who}"]:
                        with lock:
                            wrong.append((who, values))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, people))
        assert wrong == []

    def test_last_use_is_noted(self, context: Context, api: httpx.Client, loader: Loader) -> None:
        (memory,) = loader.load([Seed("uma", "editor", "Zed")])
        api.post("/v1/recall", json={"subject": "uma", "query": "editor"}, headers=bearer("t-agent"))
        context.recall.usage.write()
        row = loader.connection.execute("SELECT last_used_at FROM memories WHERE id = %s", (memory,)).fetchone()
        loader.connection.rollback()
        assert row is not None
        assert row[0] is not None
