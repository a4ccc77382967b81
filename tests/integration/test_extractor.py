"""Turns and controls in the real tables (W1, P7, E1, E3, bad input)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from consumers.contract import Span
from consumers.extractor.consumer import Extractor
from consumers.extractor.ids import conversation_id
from schemas.errors import SubjectMoved
from schemas.settings import Settings
from stores.sealing import SubjectKeys
from stores.vault import open_vault
from tests.integration.driven import Driven, control, logs, raw, turn

pytestmark = pytest.mark.integration
LIKES = "Please remember that I prefer oolong tea."


@pytest.fixture
def extractor(fresh_settings: Settings) -> Iterator[Driven]:
    logs(fresh_settings)
    driven = Driven(Extractor(fresh_settings), fresh_settings)
    yield driven
    driven.close()


def keys_of(driven: Driven, settings: Settings) -> SubjectKeys:
    ((handle,),) = driven.rows("SELECT handle FROM subjects")
    return open_vault(settings).data_keys([handle])[handle]


def test_a_turn_lies_sealed_in_the_log(extractor: Driven, fresh_settings: Settings) -> None:
    secret = "sk-live-9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c"
    text = f"My api key is {secret} and I like tea."
    fields = {"timezone": "Asia/Shanghai", "metadata": {"password": "hunter2", "page": 3}, "account": "a1"}
    result = extractor.take(turn(text, "m1", **fields))
    assert result.counts == {"stored": 1}
    keys = keys_of(extractor, fresh_settings)
    ((row_id, conversation, body, role),) = extractor.rows("SELECT id, conversation, body, role FROM turns")
    assert row_id == keys.id("turn", "m1")
    assert conversation == conversation_id(keys, "c1")
    opened = orjson.loads(keys.open(row_id, body))
    assert secret not in opened["segments"][0]["text"]
    assert opened["segments"][0]["text"].endswith("and I like tea.")
    assert opened["metadata"] == {"password": "[secret:password]", "page": 3}
    assert (opened["conversation"], opened["message_id"], role) == ("c1", "m1", "user")
    found = {kind for (kind,) in extractor.rows("SELECT kind FROM security_events")}
    assert "secret:password" in found
    assert len(found) == 2


def test_a_candidate_hangs_on_its_turn(extractor: Driven) -> None:
    result = extractor.take(turn(LIKES, "m1"), turn("It is nice today.", "m2", role="assistant"))
    assert result.counts == {"stored": 2}
    rows = extractor.rows("SELECT id, turn, type, source_type, expires_at - created_at, pos FROM candidates")
    assert rows
    assert {row[4] for row in rows} == {timedelta(days=14)}
    edges = extractor.rows("SELECT child, parent, child_kind, parent_kind FROM lineage")
    assert {(row[0], row[1], "candidate", "turn") for row in rows} == set(edges)
    assert [message.event_id for message in extractor.said] == [row[0].hex() for row in rows]
    again = extractor.consumer.republish(extractor.tx, [Span(1, 0, 0, 10**9)])
    assert sorted(again) == sorted(extractor.said)
    assert b"oolong" not in b"".join(message.body for message in again)


def test_the_same_log_again_adds_nothing(extractor: Driven) -> None:
    batch = [
        turn(LIKES, "m1"),
        control("pause", "r1"),
        turn("I like jazz.", "m2"),
        control("resume", "r2"),
        turn("I prefer trains to planes.", "m3"),
        turn("Other words.", "m1"),
        turn("I prefer buses to planes.", "m3", revision=1),
    ]
    first = extractor.take(*batch)
    assert first.counts == {"stored": 5, "not_permitted": 1}
    assert [letter.reason for letter in first.dead_letters] == ["id_conflict"]
    before = state_of(extractor)
    for again in (batch, batch[3:], batch[:2]):
        extractor.take(*again)
    for record in batch:
        extractor.take(record)
    assert state_of(extractor) == before


def state_of(driven: Driven) -> list[object]:
    return [
        driven.rows("SELECT row, id, revision, digest, log, part, pos FROM turns ORDER BY id"),
        driven.rows("SELECT id, outcome, pos FROM refusals ORDER BY id"),
        driven.rows("SELECT id, action, applied, outcome, pos FROM controls ORDER BY id"),
        driven.rows("SELECT id, turn, pos FROM candidates ORDER BY id"),
        driven.rows("SELECT child, parent FROM lineage ORDER BY child"),
        driven.rows("SELECT ref, consent, generation FROM subjects ORDER BY ref"),
        driven.rows("SELECT kind, pos FROM security_events ORDER BY id"),
    ]


def test_a_pause_before_a_sentence_wins(extractor: Driven) -> None:
    result = extractor.take(turn("I like tea.", "m1"), control("pause", "r1"), turn(LIKES, "m2"))
    assert result.counts == {"stored": 2, "not_permitted": 1}
    assert extractor.rows("SELECT consent, generation FROM subjects") == [("paused", 1)]
    assert extractor.rows("SELECT action, applied, outcome FROM controls") == [("pause", True, "applied")]
    assert extractor.rows("SELECT count(*) FROM turns") == [(1,)]
    # One conversation alone, and only while it lasts.
    extractor.take(control("resume", "r2"), control("pause", "r3", conversation="c2"))
    assert extractor.take(turn(LIKES, "m3", conversation="c2")).counts == {"not_permitted": 1}
    assert extractor.take(turn(LIKES, "m4")).counts == {"stored": 1}
    assert extractor.take(control("resume", "r4", conversation="c2")).counts == {"stored": 1}
    assert extractor.take(turn(LIKES, "m5", conversation="c2")).counts == {"stored": 1}
    assert extractor.take(turn(LIKES, "m3", conversation="c2")).counts == {"not_permitted": 1}


def test_an_edit_replaces_the_text(extractor: Driven, fresh_settings: Settings) -> None:
    extractor.take(turn(LIKES, "m1"))
    old = {row[0] for row in extractor.rows("SELECT id FROM candidates")}
    extractor.take(turn(LIKES.replace("oolong", "green"), "m1", revision=2))
    keys = keys_of(extractor, fresh_settings)
    ((row_id, revision, body),) = extractor.rows("SELECT id, revision, body FROM turns")
    assert revision == 2
    assert b"oolong" not in keys.open(row_id, body)
    new = {row[0] for row in extractor.rows("SELECT id FROM candidates")}
    assert new
    assert not new & old
    assert {row[0] for row in extractor.rows("SELECT child FROM lineage")} == new


def test_eight_deliveries_at_once_are_one_turn(fresh_settings: Settings) -> None:
    logs(fresh_settings)
    workers = [Driven(Extractor(fresh_settings), fresh_settings) for _ in range(8)]
    results: list[dict[str, int]] = []
    gate = threading.Barrier(8)

    def deliver(driven: Driven, part: int) -> None:
        gate.wait()
        results.append(dict(driven.take(turn(LIKES, "m1", pos=0, part=part, at=at)).counts))

    at = datetime.now(UTC)
    threads = [threading.Thread(target=deliver, args=(driven, part)) for part, driven in enumerate(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(results, key=list) == [*[{"duplicate": 1}] * 7, {"stored": 1}]
    assert workers[0].rows("SELECT count(*) FROM turns") == [(1,)]
    assert workers[0].rows("SELECT count(*) FROM subjects") == [(1,)]
    for driven in workers:
        driven.close()


def test_orders_wait_for_the_gate(extractor: Driven) -> None:
    extractor.take(
        control("correct", "r1", memory="ab" * 16, value="password: hunter2Abc!"),
        control("revert", "r2", conversation="c1"),
    )
    assert extractor.rows("SELECT action, applied, outcome FROM controls ORDER BY pos") == [
        ("correct", False, None),
        ("revert", False, None),
    ]
    assert extractor.rows("SELECT source_type, turn FROM candidates") == [("user_confirmed", None)] * 2
    assert extractor.rows("SELECT DISTINCT parent_kind FROM lineage") == [("control",)]
    assert extractor.rows("SELECT kind FROM security_events") == [("secret:password",)]
    assert extractor.take(control("revert", "r2", conversation="c1")).counts == {"duplicate": 1}


def test_before_compression_the_events_are_read_again(extractor: Driven) -> None:
    extractor.take(turn(LIKES, "m1"), turn("I prefer jazz.", "m2", conversation="c2"))
    assert not extractor.take(control("pre_compress", "r1", conversation="c1")).candidates
    lost = extractor.rows("SELECT id FROM candidates c WHERE turn = (SELECT turn FROM candidates ORDER BY pos LIMIT 1)")
    with extractor.tx.transaction():
        extractor.tx.execute("DELETE FROM candidates WHERE id = ANY(%s)", ([row[0] for row in lost],))
    result = extractor.take(control("pre_compress", "r2", conversation="c1"))
    assert set(result.candidates) == {row[0] for row in lost}


def test_the_erased_are_not_named_again(extractor: Driven) -> None:
    early = datetime.now(UTC) - timedelta(hours=2)
    lost = turn(LIKES, "m1", at=early)
    extractor.take(lost)
    after = lost.position.pos + 1
    with extractor.tx.transaction():
        extractor.tx.execute("DELETE FROM turns")
        extractor.tx.execute(
            "UPDATE subjects SET handle = NULL, epoch = 2, fence = '{\"1/0\": %s}'" % (lost.position.pos + 2)
        )
    after = lost.position.pos + 1
    assert extractor.take(lost, control("pause", "r1", pos=after)).counts == {"erased_source": 2}
    assert extractor.rows("SELECT handle, consent FROM subjects") == [(None, "on")]
    # Other later turns start afresh.
    assert extractor.take(turn(LIKES, "m9", pos=after + 1)).counts == {"stored": 1}
    assert extractor.rows("SELECT epoch, handle IS NULL FROM subjects") == [(2, False)]


@pytest.mark.parametrize("fenced", [True, False])
def test_an_erasure_between_preparation_and_lock(extractor: Driven, fenced: bool) -> None:
    extractor.take(turn(LIKES, "m1"))
    record = turn(LIKES, "m2", part=1)
    ready = extractor.consumer.prepare([record])
    fence = {"1/1": record.position.pos + 1} if fenced else {}
    blocked = "UPDATE subjects SET handle = NULL, epoch = 2, fence = %s::jsonb"
    with extractor.tx.transaction():
        extractor.tx.execute(blocked, (orjson.dumps(fence).decode(),))
    if not fenced:
        with pytest.raises(SubjectMoved):
            extractor.consumer.load(extractor.tx, ready)
        extractor.tx.rollback()
        assert extractor.take(record).counts == {"stored": 1}
        return
    result = extractor.consumer.decide(ready, extractor.consumer.load(extractor.tx, ready))
    extractor.tx.rollback()
    assert result.counts == {"erased_source": 1}


BAD = {
    "not_json": raw(b"\xff\xfe{"),
    "unknown_type": raw(b"{}", "org.obelus.party.v1"),
    "unknown_version": raw(b"{}", "org.obelus.turn.v9"),
    "missing_field": turn("CANARY", "m1", tenant=None),
    "missing_field ": turn("CANARY", "m1", subject=None),
    "text_too_large": turn("CANARY" * 200_000, "m1"),
    "empty_text": turn("", "m1"),
    "invalid_id": turn("CANARY", "m 1"),
    "invalid_id ": turn("CANARY", "m1", subject="CANARY*"),
    "future_time": turn("CANARY", "m1", at=datetime.now(UTC) + timedelta(days=2)),
    "wrong_topic": raw(b"{}", "org.obelus.deletion.v1"),
}


@pytest.mark.parametrize("reason", BAD)
def test_bad_input_is_set_aside_and_the_next_is_processed(
    extractor: Driven, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        result = extractor.take(BAD[reason], turn("I like tea.", "m2"))
    assert [(letter.position, letter.reason) for letter in result.dead_letters] == [
        (BAD[reason].position, reason.strip())
    ]
    assert result.counts == {"stored": 1}
    assert "CANARY" not in caplog.text


def test_no_content_and_no_natural_id_leaves(extractor: Driven, caplog: pytest.LogCaptureFixture) -> None:
    canaries = ("CANARYTENANT", "CANARYSUBJECT", "CANARYAUTHOR", "CANARYCONV", "CANARYMSG", "CANARYTEXT", "CANARYREQ")
    own = {"tenant": "CANARYTENANT", "subject": "CANARYSUBJECT", "conversation": "CANARYCONV"}
    text = "Please remember that I prefer CANARYTEXT tea."
    with caplog.at_level(logging.DEBUG):
        extractor.take(
            turn(text, "CANARYMSG", author="CANARYAUTHOR", **own),
            turn(text, "CANARYMSG2", **own),
            turn("CANARYTEXT other", "CANARYMSG2", **own),
            control("pause", "CANARYREQ", **own),
            turn(text, "CANARYMSG3", **own),
        )
    assert extractor.said
    kept = b"".join(
        repr(extractor.rows(f"SELECT * FROM {table}")).encode()
        for table in ("turns", "candidates", "controls", "refusals", "subjects", "lineage", "security_events",
                      "conversation_consents", "dead_letters")
    )  # fmt: skip
    told = b"".join(message.key.encode() + message.body + repr(message.headers).encode() for message in extractor.said)
    for canary in canaries:
        assert canary.encode() not in kept + told
        assert canary not in caplog.text
