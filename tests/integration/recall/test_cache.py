"""Kept answers on the real parts: never another person's, never an older one's, nothing of the erased (A9, C10)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import httpx
import pytest
from redis import Redis

from benchmarks.memories import Loader, Seed
from deploy.embedded.valkey import Valkey
from deploy.parts import place
from recall.api.context import open_context
from recall.model import Answer, Question
from recall.search import Recall
from schemas import datamap
from schemas.events import Deletion, Selector
from schemas.settings import Settings
from schemas.words import SelectorKind, Sensitivity
from stores.cache import redis_client
from stores.sealing import lock_of
from stores.subjects import load_by_ref
from streams.metrics import CACHE
from streams.topics import apply
from tests.integration.recall.conftest import bearer
from tests.integration.test_erasure import Hand
from tests.stack import short_home

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def recall(settings: Settings, loader: Loader) -> Iterator[Recall]:
    opened = open_context(settings)
    yield opened.recall
    opened.close()


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[Redis]:
    with redis_client(settings) as client:
        yield client


def ask(recall: Recall, subject: str, text: str = "orchid", **more: Any) -> tuple[list[str], str]:
    """What is said, and what the cache did."""
    before = counted()
    until = time.monotonic() + 90
    while (answer := recall.answer(question(subject, text, **more))).degraded:
        assert time.monotonic() < until
        time.sleep(0.1)
    return values(answer), ",".join(name for name, count in counted().items() if count > before.get(name, 0))


def question(subject: str, text: str, **more: Any) -> Question:
    return replace(Question("default", subject, text, 8, 800, role="agent"), **more)


def values(answer: Answer) -> list[str]:
    return [item["value"] for item in answer.items]


def counted() -> dict[str, float]:
    samples = CACHE.collect()[0].samples
    return {sample.labels["result"]: sample.value for sample in samples if sample.name.endswith("_total")}


def ref_of(loader: Loader, subject: str) -> bytes:
    lookup = loader.vault.lookup("default")
    assert lookup is not None
    return lookup.subject(subject)


def change(loader: Loader, subject: str, what: str = "generation = generation + 1") -> None:
    loader.connection.execute(f"UPDATE subjects SET {what} WHERE ref = %s", (ref_of(loader, subject),))
    loader.connection.commit()


class TestHits:
    def test_a_hit_is_the_same_answer_with_a_trace_of_its_own(
        self, recall: Recall, loader: Loader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loader.load(
            [Seed("ana", "flower", "white orchid"), Seed("ana", "tree", "orchid tree", conditions=("on.phone",))]
        )
        asked = question("ana", "canary orchid")
        first = recall.answer(asked)
        # Neither the model nor the index nor the memories are needed any more.
        monkeypatch.setattr(recall, "_hits", None)
        monkeypatch.setattr("recall.search.verify", None)
        second = recall.answer(asked)
        assert first.items and not second.degraded
        assert (second.items, second.conflicts) == (first.items, first.conflicts)
        assert second.trace and second.trace != first.trace
        bodies = [self.trace(loader, trace or "") for trace in (first.trace, second.trace)]
        assert bodies[1] == bodies[0] | {"cached": True}

    def trace(self, loader: Loader, trace: str) -> dict[str, Any]:
        query = (
            "SELECT handle, body, (SELECT count(*) FROM lineage WHERE child = id AND parent_kind = 'memory')"
            " FROM traces WHERE id = %s"
        )
        row = loader.connection.execute(query, (bytes.fromhex(trace),)).fetchone()
        loader.connection.rollback()
        assert row is not None and row[2]
        found: dict[str, Any] = json.loads(loader.vault.data_keys([row[0]])[row[0]].open(bytes.fromhex(trace), row[1]))
        assert found["query"] == "canary orchid"
        return found

    def test_a_hit_reads_one_row(self, recall: Recall, loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
        loader.load([Seed("bea", "flower", "orchid")])
        assert ask(recall, "bea") == (["orchid"], "miss")
        statements: list[str] = []
        with recall._parts.pool.connection() as connection:
            run = type(connection).execute

            def noted(self: Any, query: Any, *given: Any, **more: Any) -> Any:
                statements.append(str(query))
                return run(self, query, *given, **more)

            monkeypatch.setattr(type(connection), "execute", noted)
        assert ask(recall, "bea") == (["orchid"], "hit")
        assert ["FROM subjects" in statements[0], "leave_trace" in statements[1]] == [True, True]
        assert len(statements) == 2

    def test_what_lies_in_redis_fits_the_map_and_is_sealed(self, recall: Recall, loader: Loader, client: Redis) -> None:
        loader.load([Seed("cleo", "flower", "canary orchid")])
        ask(recall, "cleo", "canary", conversation="canary")
        places = [entry.place.format(handle="*") for entry in datamap.of("redis")]
        keys = [key.decode() for key in client.scan_iter()]
        assert keys
        for key in keys:
            assert sum(fnmatchcase(key, pattern) for pattern in places) == 1, key
            assert 0 < client.pttl(key) <= 60_000
            held = [client.get(key) or b""] if client.type(key) == b"string" else client.zrange(key, 0, -1)
            assert b"canary" not in b"".join(held) and "canary" not in key


@pytest.fixture(scope="module")
def dee(loader: Loader) -> None:
    loader.load([Seed("dee", "a", "orchid"), Seed("dee", "b", "lily", sensitivity=Sensitivity.SENSITIVE)])


class TestMisses:
    def test_the_same_question_of_another_person_is_a_miss(self, recall: Recall, loader: Loader) -> None:
        """C10: asked in the same words, each reads back only their own."""
        loader.load([Seed("u1", "friend", "Alex plays chess"), Seed("u2", "friend", "Alex sings opera")])
        assert ask(recall, "u1", "Who is Alex?") == (["Alex plays chess"], "miss")
        assert ask(recall, "u2", "Who is Alex?") == (["Alex sings opera"], "miss")
        assert ask(recall, "u1", "Who is Alex?") == (["Alex plays chess"], "hit")
        assert ask(recall, "u2", "Who is Alex?") == (["Alex sings opera"], "hit")
        assert ask(recall, "u2", "who is alex?")[1] == "miss"

    @pytest.mark.usefixtures("dee")
    @pytest.mark.parametrize(
        ("change", "left"),
        [
            ({"role": "person"}, 2),
            ({"clearance": Sensitivity.NONE}, 1),
            ({"namespaces": ("profile",)}, 0),
            ({"limit": 1}, 1),
            ({"token_budget": 1}, 0),
        ],
    )
    def test_another_permission_is_a_miss(
        self, recall: Recall, loader: Loader, change: dict[str, Any], left: int
    ) -> None:
        assert len(ask(recall, "dee", "orchid lily")[0]) == 2
        found, result = ask(recall, "dee", "orchid lily", **change)
        assert (len(found), result) == (left, "miss")
        assert ask(recall, "dee", "orchid lily", **change) == (found, "hit")

    def test_a_change_of_generation_is_a_miss(self, recall: Recall, loader: Loader) -> None:
        (memory,) = loader.load([Seed("eve", "a", "orchid")])
        assert [ask(recall, "eve") for _ in range(2)] == [(["orchid"], "miss"), (["orchid"], "hit")]
        loader.connection.execute("UPDATE memories SET status = 'revoked' WHERE id = %s", (memory,))
        change(loader, "eve")
        assert [ask(recall, "eve") for _ in range(2)] == [([], "miss"), ([], "hit")]
        loader.load([Seed("eve", "b", "orchid again")])
        change(loader, "eve")
        assert ask(recall, "eve") == (["orchid again"], "miss")

    def test_consent_is_read_with_every_hit(self, recall: Recall, loader: Loader) -> None:
        loader.load([Seed("fay", "a", "orchid")])
        assert [ask(recall, "fay")[0] for _ in range(2)] == [["orchid"]] * 2
        change(loader, "fay", "consent = 'paused'")
        assert ask(recall, "fay") == ([], "")
        change(loader, "fay", "consent = 'on'")
        assert ask(recall, "fay") == (["orchid"], "hit")

    def test_what_ends_within_the_time_ends_in_the_cache(self, recall: Recall, loader: Loader, client: Redis) -> None:
        """C12: a memory that lapses is out at once, though Redis still holds the answer."""
        until = datetime.now(UTC) + timedelta(seconds=3)
        loader.load([Seed("gil", "a", "orchid", expires_at=until), Seed("gil", "b", "orchid two")])
        assert sorted(ask(recall, "gil")[0]) == ["orchid", "orchid two"]
        handle = load_by_ref(loader.connection, [ref_of(loader, "gil")])[ref_of(loader, "gil")].handle or b""
        (key,) = client.scan_iter(match=f"recall:{handle.hex()}:*")
        assert 0 < client.pttl(key) <= 3000
        client.persist(key)
        time.sleep(max(0.0, (until - datetime.now(UTC)).total_seconds()) + 0.05)
        assert ask(recall, "gil") == (["orchid two"], "miss")

    def test_other_times_and_statements_pass_by(self, recall: Recall, loader: Loader) -> None:
        loader.load([Seed("hal", "a", "orchid")])
        for _ in range(2):
            assert ask(recall, "hal", at=datetime.now(UTC)) == (["orchid"], "bypass")
            assert ask(recall, "hal", statements=("I bought a rose",))[1] == "bypass"


class TestRaces:
    def test_an_answer_that_was_overtaken_is_kept_for_nobody(
        self, recall: Recall, loader: Loader, client: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The cache is filled after the erasure has swept it: what was put there is taken back."""
        from recall.cached import AnswerCache

        loader.load([Seed("ida", "a", "orchid")])
        ref = ref_of(loader, "ida")
        handle = load_by_ref(loader.connection, [ref])[ref].handle or b""
        loader.connection.rollback()
        keep = AnswerCache.keep

        def late(*given: Any) -> None:
            loader.connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_of(ref),))
            change(loader, "ida", "epoch = epoch + 1, handle = NULL, generation = generation + 1")
            keep(*given)

        monkeypatch.setattr(AnswerCache, "keep", late)
        # The answer itself was complete before.
        assert values(recall.answer(question("ida", "orchid"))) == ["orchid"]
        assert list(client.scan_iter(match=f"recall:{handle.hex()}:*")) == []
        assert values(recall.answer(question("ida", "orchid"))) == []

    def test_a_missing_key_fails_closed_on_a_warm_cache(self, recall: Recall, loader: Loader) -> None:
        loader.load([Seed("jo", "a", "orchid")])
        assert [ask(recall, "jo")[0] for _ in range(2)] == [["orchid"]] * 2
        ref = ref_of(loader, "jo")
        loader.vault.destroy_keys([load_by_ref(loader.connection, [ref])[ref].handle or b""])
        loader.connection.rollback()
        answer = recall.answer(question("jo", "orchid"))
        assert (answer.items, answer.degraded) == ([], True)

    @pytest.mark.parametrize("hangs", [False, True])
    def test_without_redis_answers_come_all_the_same(self, settings: Settings, loader: Loader, hangs: bool) -> None:
        with socket.socket() as hole:
            hole.bind(("127.0.0.1", 0))
            if hangs:
                hole.listen(8)
            opened = open_context(settings.model_copy(update={"redis": f"redis://127.0.0.1:{hole.getsockname()[1]}/0"}))
            try:
                loader.load([Seed(f"kim{hangs}", "a", "orchid")])
                begun = time.monotonic()
                for _ in range(8):
                    assert ask(opened.recall, f"kim{hangs}") == (["orchid"], "unavailable")
                assert time.monotonic() - begun < 20
            finally:
                opened.close()


@contextmanager
def api(settings: Settings, count: int) -> Iterator[list[str]]:
    """So many API processes on one set of parts."""
    names = ("kafka", "database", "redis", "qdrant")
    base = {name: value for name, value in os.environ.items() if not name.startswith("OBELUS_")}
    base |= {f"OBELUS_{name.upper()}": getattr(settings, name) for name in names}
    base |= {"OBELUS_HOME": str(settings.home), "OBELUS_EMBEDDINGS": "hash", "OBELUS_HEALTH_PORT": "0"}
    addresses = [f"http://127.0.0.1:{free_port()}" for _ in range(count)]
    command = [sys.executable, "-m", "deploy.cli", "run", "api"]
    running = [subprocess.Popen(command, env=base | {"OBELUS_API": address}) for address in addresses]
    try:
        for address in addresses:
            until_ready(address)
        yield addresses
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(90)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def until_ready(address: str) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/readyz", trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError("the API did not start")


def told(address: str, subject: str, role: str = "agent", **more: Any) -> list[str]:
    """What one API process says; a busy machine may be late."""
    until = time.monotonic() + 90
    while True:
        body = {"subject": subject, "query": "Which editor?", **more}
        found = httpx.post(
            f"{address}/v1/recall", json=body, headers=bearer(f"t-{role}"), timeout=30, trust_env=False
        ).json()
        if not found["degraded"]:
            return [item["value"] for item in found["items"]]
        assert time.monotonic() < until
        time.sleep(0.1)


def hits(address: str) -> float:
    text = httpx.get(f"{address}/metrics", trust_env=False).text
    rows = [line for line in text.splitlines() if line.startswith('obelus_cache_total{result="hit"}')]
    return float(rows[0].split()[-1]) if rows else 0.0


def forget(hand: Hand, subject: str) -> bytes:
    selector = Selector(kind=SelectorKind.SUBJECT, subject=subject)
    return hand.send(Deletion(request_id=f"r-{subject}", tenant="default", requested_by="officer", selector=selector))


@pytest.fixture
def hand(settings: Settings, loader: Loader) -> Iterator[Hand]:
    apply(settings)
    found = Hand(settings.model_copy(update={"turns_log": "shared"}))
    yield found
    found.close()


@pytest.mark.slow
def test_two_warm_processes_say_nothing_of_the_erased(
    settings: Settings, loader: Loader, recall: Recall, hand: Hand, client: Redis
) -> None:
    """H15, A9: caches warm in both processes, purge one person, ask again without a restart."""
    settings.tokens_file.write_text(
        json.dumps({f"t-{role}": {"tenant": "default", "role": role} for role in ("agent", "person")})
    )
    loader.load([Seed("lea", "editor", "Helix"), Seed("max", "editor", "Emacs")])
    with api(settings, 2) as addresses:
        for _ in range(2):
            for address in addresses:
                assert (told(address, "lea"), told(address, "max")) == (["Helix"], ["Emacs"])
        # Warm, and another role does not share it.
        warm = [hits(address) for address in addresses]
        assert min(warm) > 0
        assert told(addresses[0], "lea", "person") == ["Helix"]
        assert hits(addresses[0]) == warm[0]

        erasure = forget(hand, "lea")
        assert [told(address, "lea") for address in addresses] == [[], []]
        state, handle, *_ = hand.row(erasure)
        assert state == "blocked"
        assert hand.advance(erasure) in ("verified", "final")
        for _ in range(2):
            assert [(told(address, "lea"), told(address, "max")) for address in addresses] == [([], ["Emacs"])] * 2
    assert not [key for key in client.scan_iter() if handle.hex().encode() in key]
    lines = hand.parts.observing().execute(
        "SELECT status, before FROM erasure_lines WHERE erasure = %s AND entry = 'redis.cache'", (erasure,)
    )
    assert lines.fetchall() == [("erased", 2)]


def test_one_memory_erased_is_out_of_every_kept_answer(
    recall: Recall, loader: Loader, hand: Hand, client: Redis
) -> None:
    """A narrower erasure: the generation moves, and the older answers are deleted, not left to end by themselves."""
    memory, _ = loader.load([Seed("pia", "a", "orchid"), Seed("pia", "b", "orchid two")])
    assert [len(ask(recall, "pia")[0]) for _ in range(2)] == [2, 2]
    handle = load_by_ref(loader.connection, [ref_of(loader, "pia")])[ref_of(loader, "pia")].handle or b""
    loader.connection.rollback()
    (old,) = client.scan_iter(match=f"recall:{handle.hex()}:*")
    selector = Selector(kind=SelectorKind.MEMORY, subject="pia", id=memory.hex())
    erasure = hand.send(Deletion(request_id="r-pia", tenant="default", requested_by="officer", selector=selector))
    assert ask(recall, "pia") == (["orchid two"], "miss")
    for _ in range(20):
        if (state := hand.advance(erasure)) in ("verified", "final"):
            break
        time.sleep(0.2)
    assert state in ("verified", "final")
    assert not client.exists(old)
    assert ask(recall, "pia")[0] == ["orchid two"]


@pytest.mark.slow
def test_a_cache_that_sleeps_through_a_purge_wakes_to_nothing(
    settings: Settings, loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H22: Redis is down for the whole purge and comes back with old data."""
    with short_home() as home:
        valkey = Valkey(place(home))
        valkey.start()
        hand = None
        try:
            own = settings.model_copy(update={"redis": valkey.address, "turns_log": "shared"})
            apply(own)
            hand = Hand(own)
            loader.load([Seed("nora", "editor", "Zed"), Seed("otto", "editor", "Kakoune")])
            with api(own, 1) as (address,):
                for _ in range(2):
                    assert (told(address, "nora"), told(address, "otto")) == (["Zed"], ["Kakoune"])
                with redis_client(own) as client:
                    for key in client.scan_iter():
                        client.persist(key)
                time.sleep(1.1)  # what the cache promises: at most the last second is lost
                assert valkey.child is not None
                os.kill(valkey.child.pid, signal.SIGKILL)
                valkey.child.wait(5)

                erasure = forget(hand, "nora")
                assert told(address, "nora") == []
                assert hand.advance(erasure) == "partial"
                assert told(address, "otto") == ["Kakoune"]

                valkey.spawn()
                until = time.monotonic() + 90
                while not valkey.answers():
                    assert time.monotonic() < until
                    time.sleep(0.05)
                handle = hand.row(erasure)[1].hex().encode()
                with redis_client(own) as client:
                    assert [key for key in client.scan_iter() if handle in key]
                    assert told(address, "nora") == []
                    assert hand.advance(erasure) in ("verified", "final")
                    assert not [key for key in client.scan_iter() if handle in key]
                assert (told(address, "nora"), told(address, "otto")) == ([], ["Kakoune"])
        finally:
            if hand is not None:
                hand.close()
            valkey.stop()
