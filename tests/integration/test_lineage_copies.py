"""Traces, kept answers and session windows: none without its parents, and an erasure finds each by them (D2, D11)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from redis import Redis

from benchmarks.memories import Loader, Seed
from consumers.purger.narrow.steps import Narrow
from consumers.purger.round import Round
from deploy.cli.lineage_forms import dot, prov, tree
from recall.api.context import open_context
from recall.model import Question
from recall.search import Recall
from schemas.errors import PartUnavailable, Refused, TransientError
from schemas.events import Deletion, Selector
from schemas.settings import Settings
from schemas.words import SelectorKind
from stores.cache import keep, recall_key, redis_client, window_key
from stores.copies import Place, Recorded, WindowEdges, lapse
from stores.database import Connection, connect
from stores.lineage import Graph, graph
from stores.lineage_cache import look_after_copies
from stores.recalls import RecallStore
from stores.sealing import SubjectKeys
from stores.subjects import ensure_subjects, load_by_ref
from stores.vault import Vault, open_vault
from stores.windows import TTL_SECONDS, TURNS, Parents, WindowStore, WindowTurn
from streams.sessions.keeper import Keeper
from streams.topics import apply
from tests.integration.driven import turn
from tests.integration.test_erasure import Hand

pytestmark = pytest.mark.integration


@pytest.fixture
def conn(fresh_settings: Settings) -> Iterator[Connection]:
    with connect(fresh_settings.database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def loader(fresh_settings: Settings) -> Iterator[Loader]:
    made = Loader(fresh_settings)
    yield made
    made.close()


@pytest.fixture
def recall(fresh_settings: Settings, loader: Loader) -> Iterator[Recall]:
    opened = open_context(fresh_settings)
    yield opened.recall
    opened.close()


@pytest.fixture
def client(fresh_settings: Settings) -> Iterator[Redis]:
    with redis_client(fresh_settings) as client:
        yield client


@pytest.fixture
def hand(fresh_settings: Settings) -> Iterator[Hand]:
    from tests.stack import delete_topics

    delete_topics(fresh_settings)
    apply(fresh_settings)
    found = Hand(fresh_settings.model_copy(update={"turns_log": "shared"}))
    found.parts.index.ensure(384)
    yield found
    found.close()


def ask(recall: Recall, text: str = "orchid", subject: str = "ana") -> bytes:
    """The id of the trace."""
    while True:
        answer = recall.answer(Question("default", subject, text, 8, 800, role="agent"))
        if not answer.degraded and answer.trace:
            return bytes.fromhex(answer.trace)


def handle_of(loader: Loader, subject: str = "ana", tenant: str = "default") -> bytes:
    lookup = loader.vault.lookup(tenant)
    assert lookup is not None
    ref = lookup.subject(subject)
    handle = load_by_ref(loader.connection, [ref])[ref].handle
    loader.connection.rollback()
    return handle or b""


def parents(conn: Connection, kind: str, child: bytes) -> set[tuple[str, bytes]]:
    query = "SELECT parent_kind, parent FROM lineage WHERE child_kind = %s AND child = %s"
    return set(conn.execute(query, (kind, child)).fetchall())


def cached(client: Redis, handle: bytes) -> list[bytes]:
    keys = client.scan_iter(match=f"recall:{handle.hex()}:*")
    return [bytes.fromhex(key.decode().rpartition(":")[2]) for key in keys]


def kinds(found: Graph) -> set[str]:
    return {key.kind for key in found.nodes}


def forget(hand: Hand, tenant: str, subject: str, kind: SelectorKind, **what: Any) -> bytes:
    selector = Selector(kind=kind, subject=subject, **what)
    event = Deletion(request_id=secrets.token_hex(6), tenant=tenant, requested_by="officer", selector=selector)
    erasure = hand.send(event)
    for _ in range(50):
        if hand.advance(erasure) in ("verified", "final"):
            break
    return erasure


def taken(conn: Connection, erasure: bytes) -> dict[str, set[bytes]]:
    """What an erasure found, by kind."""
    row = conn.execute("SELECT items FROM erasures WHERE id = %s", (erasure,)).fetchone()
    assert row is not None
    return {kind: {bytes.fromhex(one) for one in ids} for kind, ids in row[0]["ids"].items()}


def stopped(*_: object) -> None:
    raise TransientError("stopped")


CUT = Narrow.words_of


def late(*given: Any) -> None:
    """The cut of a person's words, after the cache has been done beside it."""
    time.sleep(0.5)
    CUT(*given)


class TestAnswers:
    def test_a_trace_and_a_kept_answer_lead_to_what_they_show(
        self, recall: Recall, loader: Loader, conn: Connection, client: Redis
    ) -> None:
        shown = loader.load([Seed("ana", "a", "orchid"), Seed("ana", "b", "orchid two")])
        handle = handle_of(loader)
        traces = [ask(recall), ask(recall)]
        [kept] = cached(client, handle)
        expected = {("memory", memory) for memory in shown}
        for kind, child in (*(("trace", trace) for trace in traces), ("cached", kept)):
            assert parents(conn, kind, child) == expected
        found = graph(conn, handle, shown[0])
        look_after_copies(found, client, handle)
        assert {key.id for key in found.children(found.start) if key.kind == "trace"} == set(traces)
        text = tree(found)
        assert "kept answer" in text and "gone by now" not in text and text.count("recall, policy") == 2
        assert f"obelus:cached/{kept.hex()}" in prov(found)["entity"] and f"trace/{traces[0].hex()}" in dot(found)
        client.flushdb()
        look_after_copies(found, client, handle)
        assert "kept answer, gone by now" in tree(found)

    def test_an_answer_without_memories_comes_from_who_was_asked_about(
        self, recall: Recall, loader: Loader, conn: Connection, client: Redis
    ) -> None:
        loader.load([Seed("ana", "a", "orchid", status="pending")])  # type: ignore[arg-type]
        handle = handle_of(loader)
        trace = ask(recall)
        [kept] = cached(client, handle)
        assert parents(conn, "trace", trace) == parents(conn, "cached", kept) == {("subject", handle)}

    def test_neither_is_written_without(self, fresh_settings: Settings, conn: Connection, client: Redis) -> None:
        with connect(fresh_settings.database) as tx:
            values = (secrets.token_bytes(16), b"h" * 16)
            tx.execute(
                "INSERT INTO traces (id, handle, epoch, policy_version, index_version, degraded, body)"
                " VALUES (%s, %s, 1, '1', 'hash', false, '')",
                values,
            )
            with pytest.raises(psycopg.errors.CheckViolation):
                tx.commit()
        place = recall_key(b"h" * 16, 1, 1, b"q" * 16)
        with pytest.raises(Refused):
            RecallStore(client).write(place, b"sealed", 1000, Recorded())
        assert list(client.scan_iter()) == []

    def test_nothing_is_kept_of_whom_a_block_came_for(self, recall: Recall, loader: Loader, conn: Connection) -> None:
        [memory] = loader.load([Seed("ana", "a", "orchid")])
        handle = handle_of(loader)
        verify = Recall._select

        def blocked(self: Recall, *given: Any) -> Any:
            conn.execute("UPDATE subjects SET epoch = epoch + 1, handle = NULL WHERE handle = %s", (handle,))
            return verify(self, *given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Recall, "_select", blocked)
            recall.answer(Question("default", "ana", "orchid", 8, 800, role="agent"))
        assert conn.execute("SELECT count(*) FROM lineage WHERE parent = %s", (memory,)).fetchone() == (1,)

    def test_edges_of_what_has_ended_go(self, recall: Recall, loader: Loader, conn: Connection) -> None:
        [memory] = loader.load([Seed("ana", "a", "orchid")])
        ask(recall)
        count = "SELECT count(*) FROM lineage WHERE parent = %s AND child_kind = 'cached'"
        assert lapse(conn, "cached") == 0 and conn.execute(count, (memory,)).fetchone() == (1,)
        conn.execute("UPDATE lineage SET until = until - interval '10 minutes' WHERE until IS NOT NULL")
        # The same question again: the row is the entry's, whenever it was first written.
        loader.connection.execute("UPDATE subjects SET generation = generation + 1")
        loader.connection.commit()
        ask(recall)
        assert lapse(conn, "cached") == 0 and conn.execute(count, (memory,)).fetchone() == (1,)
        conn.execute("UPDATE lineage SET until = until - interval '10 minutes' WHERE until IS NOT NULL")
        assert "cached" not in kinds(graph(conn, handle_of(loader), memory))
        assert lapse(conn, "cached") == 1 and conn.execute(count, (memory,)).fetchone() == (0,)

    def test_erasing_a_memory_takes_what_showed_it_and_leaves_the_rest(
        self, recall: Recall, loader: Loader, conn: Connection, client: Redis, hand: Hand
    ) -> None:
        gone, stays = loader.load([Seed("ana", "a", "orchid"), Seed("ana", "b", "tea")])
        handle = handle_of(loader)
        both = ask(recall, "orchid tea")
        [kept] = cached(client, handle)
        conn.execute("DELETE FROM lineage WHERE parent = %s AND child_kind = 'vector'", (stays,))
        other = secrets.token_bytes(16)
        with conn.transaction():
            conn.execute(
                "INSERT INTO traces SELECT %s, handle, epoch, policy_version, index_version, degraded, body, at"
                " FROM traces WHERE id = %s",
                (other, both),
            )
            conn.execute("INSERT INTO lineage VALUES ('trace', %s, 'memory', %s, %s)", (other, stays, handle))
        erasure = forget(hand, "default", "ana", SelectorKind.MEMORY, id=gone.hex())
        assert hand.row(erasure)[0] in ("verified", "final")
        found = taken(conn, erasure)
        assert (found["traces"], found["cached"]) == ({both}, {kept})
        assert conn.execute("SELECT id FROM traces").fetchall() == [(other,)]
        assert cached(client, handle) == []
        assert conn.execute("SELECT count(*) FROM lineage WHERE parent = %s", (gone,)).fetchone() == (0,)
        assert parents(conn, "trace", both) == set() and parents(conn, "trace", other) == {("memory", stays)}

    @pytest.mark.parametrize(("told_by_others_too", "killed"), [(False, True), (True, False)])
    def test_erasing_a_person_takes_the_answers_of_groups_that_show_what_they_said(
        self,
        recall: Recall,
        loader: Loader,
        conn: Connection,
        client: Redis,
        hand: Hand,
        told_by_others_too: bool,
        killed: bool,
    ) -> None:
        """W11, D11: whether the memory goes or stays, and though the purger is stopped between cut and cache."""
        said, others = loader.load([Seed("club", "a", "orchid"), Seed("club", "b", "tea")])
        handle = handle_of(loader, "club")
        lookup = hand.parts.vault.lookup("default")
        assert lookup is not None
        bea = lookup.subject("bea")
        conn.execute("UPDATE sources SET author = %s WHERE memory = %s", (bea, said))
        if told_by_others_too:
            body = hand.parts.vault.data_keys([handle])[handle].seal(b"c" * 16, b'{"quote": "orchid"}')
            whose = lookup.subject("cy")
            again = "INSERT INTO sources (memory, candidate, turn, handle, author, at, body)"
            conn.execute(
                f"{again} VALUES (%s, %s, %s, %s, %s, now(), %s)", (said, b"c" * 16, b"t" * 16, handle, whose, body)
            )
        trace = ask(recall, "orchid", "club")
        [shown] = cached(client, handle)
        assert parents(conn, "cached", shown) == {("memory", said), ("memory", others)}
        keep(client, recall_key(handle, 1, 1, b"o" * 16), b"of others", 60_000)
        conn.execute("INSERT INTO lineage VALUES ('cached', %s, 'memory', %s, %s)", (b"o" * 16, others, handle))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Narrow, "words_of", late)
            if killed:
                patch.setattr(Round, "after", stopped)
            event = Deletion(
                request_id="r1", tenant="default", requested_by="officer",
                selector=Selector(kind=SelectorKind.SUBJECT, subject="bea"),
            )  # fmt: skip
            erasure = hand.send(event)
            state = hand.advance(erasure)
        if killed:
            assert state == "erasing" and shown in cached(client, handle)
            state = hand.advance(erasure)
        assert state in ("verified", "final")
        assert cached(client, handle) == [b"o" * 16]
        query = "SELECT status, before, after, proven FROM erasure_lines WHERE erasure = %s AND entry = 'redis.cache'"
        row = conn.execute(query, (erasure,)).fetchone()
        # The group's key lives on: bytes in Redis' own file are not unreadable.
        assert row is not None and row[:3] == ("erased", 1, 0) and set(row[3]) == {"fenced", "absent"}
        left = {memory for (memory,) in conn.execute("SELECT id FROM memories").fetchall()}
        assert left == ({said, others} if told_by_others_too else {others})
        # A trace holds the question, and ids: it goes with what it names.
        assert conn.execute("SELECT id FROM traces").fetchall() == ([(trace,)] if told_by_others_too else [])

    def test_what_was_said_in_no_group_is_not_looked_for_in_the_cache_again(
        self, loader: Loader, hand: Hand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loader.load([Seed("ana", "a", "orchid")])
        monkeypatch.setattr(Round, "after", lambda *_: pytest.fail("a round trip more"))
        erasure = forget(hand, "default", "ana", SelectorKind.SUBJECT)
        assert hand.row(erasure)[0] in ("verified", "final")

    def test_a_trace_that_came_too_late_goes_too(
        self, recall: Recall, loader: Loader, conn: Connection, hand: Hand
    ) -> None:
        """A recall had read the memory before it was cut and left its trace after."""
        [gone, _] = loader.load([Seed("ana", "a", "orchid"), Seed("ana", "b", "tea")])
        handle = handle_of(loader)
        event = Deletion(
            request_id="r1", tenant="default", requested_by="officer",
            selector=Selector(kind=SelectorKind.MEMORY, subject="ana", id=gone.hex()),
        )  # fmt: skip
        erasure = hand.send(event)
        late = secrets.token_bytes(16)
        with conn.transaction():
            conn.execute("INSERT INTO traces VALUES (%s, %s, 1, '1', 'hash', false, '')", (late, handle))
            conn.execute("INSERT INTO lineage VALUES ('trace', %s, 'memory', %s, %s)", (late, gone, handle))
        for _ in range(50):
            if hand.advance(erasure) in ("verified", "final"):
                break
        assert hand.row(erasure)[0] in ("verified", "final")
        assert conn.execute("SELECT count(*) FROM traces").fetchone() == (0,)


@pytest.fixture
def edges(fresh_settings: Settings) -> Iterator[WindowEdges]:
    found = WindowEdges(lambda: connect(fresh_settings.database, autocommit=True), TTL_SECONDS)
    yield found
    found.close()


@pytest.fixture
def keeper(fresh_settings: Settings, client: Redis, edges: WindowEdges) -> Iterator[Keeper]:
    vault = open_vault(fresh_settings)
    with connect(fresh_settings.database) as connection:
        yield Keeper(connection, vault, client, 1, edges)
    vault.close()


def window_of(settings: Settings, subject: str = "ann", conversation: str = "c1") -> tuple[SubjectKeys, Place]:
    vault: Vault = open_vault(settings)
    with connect(settings.database) as connection:
        ref = ensure_subjects(connection, vault, [("acme", subject)])["acme", subject]
        row = load_by_ref(connection, [ref])[ref]
        keys = vault.data_keys([row.handle or b""])[row.handle or b""]
    vault.close()
    return keys, (keys.handle, row.epoch, keys.id("conversation", conversation))


class TestWindows:
    def test_a_window_leads_to_the_turns_in_it_and_to_no_others(
        self, fresh_settings: Settings, keeper: Keeper, conn: Connection
    ) -> None:
        keeper.keep([turn(f"said {n}", f"m{n}", pos=n) for n in range(4)])
        keys, place = window_of(fresh_settings)
        named = [("turn", keys.id("turn", f"m{n}")) for n in range(20)]
        assert parents(conn, "window", place[2]) == set(named[:4])
        for n in range(4, 15):
            keeper.keep([turn(f"said {n}", f"m{n}", pos=n)])
        # What scrolled out with the last writing goes with the next.
        assert parents(conn, "window", place[2]) == set(named[15 - TURNS - 1 : 15])
        keeper.keep([turn("elsewhere", "x1", pos=15, conversation="c2")])
        assert parents(conn, "window", place[2]) == set(named[15 - TURNS : 15])

    def test_what_is_not_recorded_is_not_written(self, fresh_settings: Settings, client: Redis) -> None:
        keys, place = window_of(fresh_settings)
        said = WindowTurn(keys.id("turn", "m1").hex(), 0, "user", "canary", "2026-01-01T00:00:00Z", 1, 0, 1)

        def unavailable(windows: Parents, known: Parents) -> Recorded:
            raise PartUnavailable("PostgreSQL")

        store = WindowStore(client)
        for record, error in ((unavailable, PartUnavailable), (lambda windows, known: Recorded(), Refused)):
            with pytest.raises(error):
                store.merge({place[0]: keys}, {place: [said]}, record)
        assert list(client.scan_iter()) == []

    def test_edges_are_there_before_the_window(
        self, fresh_settings: Settings, client: Redis, edges: WindowEdges, conn: Connection
    ) -> None:
        keys, place = window_of(fresh_settings)
        said = WindowTurn(keys.id("turn", "m1").hex(), 0, "user", "canary", "2026-01-01T00:00:00Z", 1, 0, 1)
        seen = []

        def record(windows: Parents, known: Parents) -> Recorded:
            recorded = edges.record(windows, known)
            seen.append((parents(conn, "window", place[2]), client.exists(window_key(*place))))
            return recorded

        WindowStore(client).merge({place[0]: keys}, {place: [said]}, record)
        assert seen == [({("turn", keys.id("turn", "m1"))}, 0)]
        edges.drop([place])
        assert parents(conn, "window", place[2]) == set()

    def test_an_edge_lives_as_long_as_its_window(
        self, fresh_settings: Settings, keeper: Keeper, conn: Connection
    ) -> None:
        keeper.keep([turn("said 1", "m1", pos=1)])
        _, place = window_of(fresh_settings)
        left = "SELECT min(until) > now() + %s * interval '1 second', count(*) FROM lineage WHERE child_kind = 'window'"
        # Half a day and more passes: all edges of a window that is written to are looked at again.
        conn.execute("UPDATE lineage SET until = until - interval '13 hours'")
        keeper._edges._whole.clear()
        keeper.keep([turn("said 2", "m2", pos=2)])
        assert conn.execute(left, (TTL_SECONDS + 12 * 3600,)).fetchone() == (True, 2)
        # In between, and when they are looked at too early, those that are there stay as they are.
        written = "SELECT array_agg(xmin::text ORDER BY parent) FROM lineage WHERE parent <> %s AND child = %s"
        keys, _ = window_of(fresh_settings)
        third = keys.id("turn", "m3")
        before = conn.execute(written, (third, place[2])).fetchone()
        keeper._edges._whole.clear()
        keeper.keep([turn("said 3", "m3", pos=3)])
        assert conn.execute(written, (third, place[2])).fetchone() == before
        assert conn.execute(left, (TTL_SECONDS + 12 * 3600,)).fetchone() == (True, 3)

    def test_erasing_a_person_takes_the_windows_of_groups_in_which_they_spoke(
        self, fresh_settings: Settings, keeper: Keeper, conn: Connection, client: Redis, hand: Hand
    ) -> None:
        """W11: whether the extractor has met their words or not; what others said comes back by itself."""
        keeper.keep(
            [
                turn("said by bea", "m1", pos=1, subject="club", author="bea"),
                turn("said by cy", "m2", pos=2, subject="club", author="cy"),
                turn("said by cy", "m3", pos=3, subject="club", author="cy", conversation="c2"),
            ]
        )
        keys, place = window_of(fresh_settings, "club")
        _, other = window_of(fresh_settings, "club", "c2")
        lookup = hand.parts.vault.lookup("acme")
        assert lookup is not None
        bea, cy = (("subject", lookup.subject(name)) for name in ("bea", "cy"))
        assert parents(conn, "window", place[2]) - {bea, cy} == {
            ("turn", keys.id("turn", name)) for name in ("m1", "m2")
        }
        assert {bea, cy} < parents(conn, "window", place[2]) and bea not in parents(conn, "window", other[2])

        erasure = forget(hand, "acme", "bea", SelectorKind.SUBJECT)
        assert not client.exists(window_key(*place)) and client.exists(window_key(*other))
        assert conn.execute("SELECT count(*) FROM lineage WHERE parent = %s", (bea[1],)).fetchone() == (0,)
        query = "SELECT status, before, proven FROM erasure_lines WHERE erasure = %s AND entry = 'redis.windows'"
        row = conn.execute(query, (erasure,)).fetchone()
        # The group's key lives on: bytes in Redis' own file are not unreadable.
        assert row is not None and row[:2] == ("erased", 1) and set(row[2]) == {"fenced", "absent"}
        keeper.keep([turn("said by cy", "m4", pos=4, subject="club", author="cy")])
        window = WindowStore(client).read(keys, *place[1:])
        assert [one.text for one in window or ()] == ["said by cy"]

    def test_erasing_a_message_finds_the_window_it_lies_in(
        self, fresh_settings: Settings, keeper: Keeper, conn: Connection, client: Redis, hand: Hand
    ) -> None:
        keeper.keep([turn("said 1", "m1", pos=1), turn("said 2", "m2", pos=2, conversation="c2")])
        keys, place = window_of(fresh_settings)
        _, other = window_of(fresh_settings, conversation="c2")
        erasure = forget(hand, "acme", "ann", SelectorKind.MESSAGE, message="m1")
        assert taken(conn, erasure)["windows"] == {place[2]}
        assert not client.exists(window_key(*place)) and client.exists(window_key(*other))
        assert conn.execute("SELECT parent FROM lineage WHERE child_kind = 'window'").fetchall() == [
            (keys.id("turn", "m2"),)
        ]
        query = "SELECT status, before FROM erasure_lines WHERE erasure = %s AND entry = 'redis.windows'"
        assert conn.execute(query, (erasure,)).fetchone() == ("erased", 1)
