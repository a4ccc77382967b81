"""Recall over HTTP against real stores: right memories, and never a wrong one, whatever the index says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from benchmarks.memories import Loader, Seed
from recall.api.context import Context
from recall.truth import verify
from schemas.words import MemoryStatus, MemoryType, Polarity
from stores.sealing import lock_of
from stores.subjects import load_by_ref
from tests.integration.recall.conftest import bearer

AGENT = "t-agent"
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def people(loader: Loader) -> None:
    now = datetime.now(UTC)
    loader.load(
        [
            Seed("ana", "editor", "Helix"),
            Seed("ana", "editor_before", "Vim", status=MemoryStatus.SUPERSEDED),
            Seed("ana", "likes.oysters", "oysters", polarity=Polarity.NEGATIVE),
            Seed("ana", "drink", "coffee", conditions=("when.weekday",)),
            Seed("ana", "drink", "tea", conditions=("when.weekend",)),
            Seed("ana", "stay", "hotel in Porto", expires_at=now - timedelta(minutes=1)),
            Seed("ana", "home", "Lyon", namespace="profile", type=MemoryType.FACT),
            Seed("ana", "friend", "Alex plays chess", namespace="profile", type=MemoryType.FACT),
            Seed("bo", "friend", "Alex sings opera", namespace="profile", type=MemoryType.FACT),
            Seed("bo", "editor", "Emacs"),
            Seed("ana", "editor", "Nano", tenant="other"),
            Seed("wei", "喝茶", "我喜欢喝龙井茶"),
            Seed("paused", "editor", "Vim"),
        ]
    )


def recall(api: httpx.Client, subject: str | None, query: str, token: str = AGENT, **more: Any) -> dict[str, Any]:
    body = {"query": query, **({"subject": subject} if subject else {}), **more}
    answer = api.post("/v1/recall", json=body, headers=bearer(token))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert set(found) >= {"items", "conflicts", "degraded", "trace"}
    return found


def values(found: dict[str, Any]) -> list[str]:
    return [item["value"] for item in found["items"]]


@pytest.mark.usefixtures("people")
class TestAnswers:
    def test_the_right_memory_comes_first_with_source_and_score(self, api: httpx.Client) -> None:
        found = recall(api, "ana", "Which editor does she use?")
        first = found["items"][0]
        assert first["value"] == "Helix"
        assert set(first) >= {"id", "type", "key", "value", "score", "source", "valid_from"}
        assert first["source"]["conversation"] == "c-1"
        assert first["source"]["message_ids"]
        assert not found["degraded"]
        assert len(found["trace"]) == 32

    def test_superseded_and_expired_ones_are_not_there(self, api: httpx.Client) -> None:
        found = values(recall(api, "ana", "Vim hotel in Porto", limit=50))
        assert "Vim" not in found
        assert "hotel in Porto" not in found

    def test_chinese(self, api: httpx.Client) -> None:
        assert values(recall(api, "wei", "他喜欢喝什么茶？")) == ["我喜欢喝龙井茶"]

    def test_conditions_follow_the_askers_clock(self, api: httpx.Client) -> None:
        saturday = (datetime.now(UTC) + timedelta(days=(5 - datetime.now(UTC).weekday()) % 7 + 7)).isoformat()
        found = values(recall(api, "ana", "What should I drink?", at=saturday))
        assert "tea" in found
        assert "coffee" not in found

    def test_unknown_subject_is_empty_not_degraded(self, api: httpx.Client) -> None:
        found = recall(api, "nobody", "anything")
        assert (found["items"], found["degraded"]) == ([], False)

    def test_limit_and_budget(self, api: httpx.Client) -> None:
        assert len(recall(api, "ana", "editor drink home", limit=1)["items"]) == 1
        assert recall(api, "ana", "editor drink home", token_budget=1)["items"] == []

    def test_the_trace_is_stored_sealed_with_what_was_dropped(self, api: httpx.Client, loader: Loader) -> None:
        found = recall(api, "ana", "Vim canary-question")
        row = loader.connection.execute(
            "SELECT handle, policy_version, ARRAY(SELECT parent FROM lineage WHERE child = id), body FROM traces"
            " WHERE id = %s",
            (bytes.fromhex(found["trace"]),),
        ).fetchone()
        loader.connection.rollback()
        assert row is not None
        assert {memory.hex() for memory in row[2]} == {item["id"] for item in found["items"]}
        assert b"canary" not in row[3]
        plain = loader.vault.data_keys([row[0]])[row[0]].open(bytes.fromhex(found["trace"]), row[3])
        assert b"canary-question" in plain
        assert b"not_active" in plain  # the index still had Vim, the truth did not


@pytest.mark.usefixtures("people")
class TestScope:
    def test_same_named_entities_stay_apart(self, api: httpx.Client) -> None:
        """C6: two people mention "Alex"; each reads back only their own."""
        assert [v for v in values(recall(api, "ana", "Who is Alex?")) if "Alex" in v] == ["Alex plays chess"]
        assert [v for v in values(recall(api, "bo", "Who is Alex?")) if "Alex" in v] == ["Alex sings opera"]

    def test_tenants_stay_apart(self, api: httpx.Client) -> None:
        assert values(recall(api, "ana", "editor", token="t-other")) == ["Nano"]
        assert "Nano" not in values(recall(api, "ana", "editor", limit=50))

    def test_a_tenant_nobody_has_heard_of(self, api: httpx.Client) -> None:
        assert recall(api, "bo", "editor", token="t-other")["items"] == []

    @pytest.mark.parametrize("body", [{"subject": "bo"}, {"subject": "ana", "tenant": "other"}, {"tenant": "other"}])
    def test_scope_in_the_body_never_widens_the_token(self, api: httpx.Client, body: dict[str, str]) -> None:
        """C11, R12: the body says another subject or tenant than the token."""
        answer = api.post("/v1/recall", json={"query": "x", **body}, headers=bearer("t-ana"))
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"
        assert "bo" not in answer.text

    def test_metadata_does_not_set_scope(self, api: httpx.Client) -> None:
        """C1, C2: fields that look like scope are ignored."""
        found = recall(api, None, "editor", "t-ana", metadata={"subject": "bo"}, user="bo", handle="00" * 16)
        assert values(found)[0] == "Helix"

    @pytest.mark.parametrize("subject", ["*", "", " ana", "ana ", "a%", "a:b", "x" * 129])
    def test_wildcards_and_padded_ids_are_refused(self, api: httpx.Client, subject: str) -> None:
        answer = api.post("/v1/recall", json={"subject": subject, "query": "x"}, headers=bearer("t-agent"))
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"

    @pytest.mark.parametrize("token", ["unknown", "t-wild"])
    def test_without_a_known_token_nothing(self, api: httpx.Client, token: str) -> None:
        answer = api.post("/v1/recall", json={"subject": "ana", "query": "x"}, headers=bearer(token))
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"

    def test_no_header_at_all(self, api: httpx.Client) -> None:
        answer = api.post("/v1/recall", json={"subject": "ana", "query": "x"})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")

    def test_roles(self, api: httpx.Client) -> None:
        body = {"subject": "ana", "query": "x"}
        assert api.post("/v1/recall", json=body, headers=bearer("t-compliance")).status_code == 403

    @pytest.mark.parametrize("body", ["not json", '{"subject":"ana"}', '{"subject":"ana","query":"x","limit":0}'])
    def test_malformed_bodies_are_problems_without_content(self, api: httpx.Client, body: str) -> None:
        answer = api.post("/v1/recall", content=body, headers=bearer("t-agent"))
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert "not json" not in answer.text


@pytest.mark.usefixtures("people")
class TestStaleIndex:
    """R3: the index lies; the truth has the last word."""

    def test_points_of_others_under_my_handle_are_not_returned(self, api: httpx.Client, loader: Loader) -> None:
        lookup = loader.vault.lookup("default")
        assert lookup is not None
        rows = load_by_ref(loader.connection, [lookup.subject("ana"), lookup.subject("bo")])
        ana, bo = rows[lookup.subject("ana")], rows[lookup.subject("bo")]
        keys = loader.vault.data_keys([ana.handle or b"", bo.handle or b""])
        theirs = loader.connection.execute(
            "SELECT id FROM memories WHERE subject = %s AND status = 'active'", (bo.ref,)
        ).fetchall()
        loader.connection.rollback()
        # Bo's memories, indexed by mistake as if they were Ana's.
        loader.put([(Seed("ana", "editor", "Emacs"), ana, row[0]) for row in theirs], keys)
        found = values(recall(api, "ana", "editor Emacs", limit=50))
        assert "Emacs" not in found
        assert "Alex sings opera" not in found

    def test_a_point_without_a_row_is_not_returned(self, api: httpx.Client, loader: Loader) -> None:
        lookup = loader.vault.lookup("default")
        assert lookup is not None
        ana = load_by_ref(loader.connection, [lookup.subject("ana")])[lookup.subject("ana")]
        loader.connection.rollback()
        keys = loader.vault.data_keys([ana.handle or b""])
        loader.put([(Seed("ana", "ghost", "ghost"), ana, b"g" * 16)], keys)
        assert "ghost" not in values(recall(api, "ana", "ghost", limit=50))

    def test_revoked_expired_and_moved_rows_vanish_at_once(self, api: httpx.Client, loader: Loader) -> None:
        ids = loader.load([Seed("cy", f"k{i}", f"orchid {i}") for i in range(4)])
        assert len(values(recall(api, "cy", "orchid"))) == 4
        changes = ("status = 'revoked'", "expires_at = now() - interval '1 second'", "epoch = epoch + 1")
        for memory, change in zip(ids, changes, strict=False):
            loader.connection.execute(f"UPDATE memories SET {change} WHERE id = %s", (memory,))
        loader.connection.commit()
        assert values(recall(api, "cy", "orchid")) == ["orchid 3"]

    def test_a_blocked_subject_has_no_memory(self, api: httpx.Client, loader: Loader) -> None:
        loader.load([Seed("dee", "k", "orchid")])
        lookup = loader.vault.lookup("default")
        assert lookup is not None
        ref = lookup.subject("dee")
        assert values(recall(api, "dee", "orchid")) == ["orchid"]
        loader.connection.execute("UPDATE subjects SET epoch = epoch + 1, handle = NULL WHERE ref = %s", (ref,))
        loader.connection.commit()
        found = recall(api, "dee", "orchid")
        assert (found["items"], found["degraded"], found["trace"]) == ([], False, None)

    @pytest.mark.parametrize("change", ["epoch = epoch + 1, handle = NULL", "consent = 'paused'"])
    def test_a_block_in_the_middle_of_a_recall_wins(
        self, api: httpx.Client, loader: Loader, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        """The rows were read before, the answer comes after: nothing may be given, nothing may be left behind."""
        subject = f"fay-{len(change)}"
        loader.load([Seed(subject, "k", "orchid")])
        lookup = loader.vault.lookup("default")
        assert lookup is not None
        ref = lookup.subject(subject)

        def verified_then_moved(*given: Any) -> Any:
            found = verify(*given)
            assert found.known
            loader.connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_of(ref),))
            loader.connection.execute(f"UPDATE subjects SET {change} WHERE ref = %s", (ref,))
            loader.connection.commit()
            return found

        handle = load_by_ref(loader.connection, [ref])[ref].handle
        loader.connection.rollback()
        monkeypatch.setattr("recall.search.verify", verified_then_moved)
        found = recall(api, subject, "orchid")
        assert (found["items"], found["trace"], found["degraded"]) == ([], None, False)
        left = loader.connection.execute("SELECT count(*) FROM traces WHERE handle = %s", (handle,)).fetchone()
        loader.connection.rollback()
        assert left == (0,)

    def test_paused_consent_reads_nothing(self, api: httpx.Client, loader: Loader) -> None:
        lookup = loader.vault.lookup("default")
        assert lookup is not None
        ref = lookup.subject("paused")
        assert values(recall(api, "paused", "editor")) == ["Vim"]
        loader.connection.execute("UPDATE subjects SET consent = 'paused' WHERE ref = %s", (ref,))
        loader.connection.commit()
        found = recall(api, "paused", "editor")
        assert (found["items"], found["degraded"]) == ([], False)
        loader.connection.execute("UPDATE subjects SET consent = 'off' WHERE ref = %s", (ref,))
        loader.connection.commit()
        assert values(recall(api, "paused", "editor")) == ["Vim"]

    def test_a_key_that_is_missing_fails_closed(self, api: httpx.Client, loader: Loader) -> None:
        loader.load([Seed("eve", "k", "orchid")])
        lookup = loader.vault.lookup("default")
        assert lookup is not None
        row = load_by_ref(loader.connection, [lookup.subject("eve")])[lookup.subject("eve")]
        loader.connection.rollback()
        loader.vault.destroy_keys([row.handle or b""])
        for _ in range(5):
            found = recall(api, "eve", "orchid")
            assert (found["items"], found["degraded"]) == ([], True)
        # One person's missing key is nobody else's outage.
        assert values(recall(api, "ana", "editor"))[0] == "Helix"

    @pytest.mark.parametrize("query", ["", " ", "?", "🙂", "\u0000", "的", "a" * 16_000])
    def test_questions_without_words(self, api: httpx.Client, query: str) -> None:
        found = recall(api, "ana", query)
        assert not found["degraded"]


def test_without_the_index_memory_is_missing_and_said_so(
    api: httpx.Client, context: Context, people: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8, G2: the vector part is down."""
    from stores.vectors import VectorIndex

    dead = VectorIndex(context.settings.model_copy(update={"qdrant": "http://127.0.0.1:9"}), timeout=1)
    parts = context.recall._parts
    monkeypatch.setattr(
        context.recall,
        "_parts",
        type(parts)(**{**{name: getattr(parts, name) for name in parts.__slots__}, "index": dead}),
    )
    for _ in range(5):
        found = recall(api, "ana", "editor")
        assert (found["items"], found["degraded"]) == ([], True)
