"""D12: what is past its time goes by the same erasers, in batches, with one receipt a tenant and day."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from consumers.purger import book
from consumers.purger.expiry.due import Due, What
from consumers.purger.expiry.work import Work
from consumers.purger.registry import Parts
from deploy.cli import main
from policy.verification import load_keys, verify
from schemas import datamap
from schemas.errors import TransientError
from schemas.events import Control, Turn
from schemas.settings import Settings
from schemas.topics import CHANGES, TURNS
from schemas.words import Action, Actor, MemoryStatus, Role
from stores.cache import keep, recall_key, redis_client
from stores.database import connect
from stores.memory_records import load_memories
from stores.sealing import lock_of
from stores.signing import public_keys_file
from stores.vault import open_vault
from stores.vectors import VectorIndex
from streams import offsets
from streams.codec import message
from streams.producer import publish
from streams.topics import SUBSCRIPTIONS, admin_client
from tests.chaos.crew import Crew
from tests.chaos.harness import until
from tests.integration.outside import Owners, memories
from tests.seeding import seed

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NAMES = ("extractor", "gate", "resolver", "indexer")
LINES = {entry.name for entry in datamap.ENTRIES}


def say(settings: Settings, tenant: str, subject: str, *lines: tuple[str, str]) -> None:
    """Lines are (message id, text)."""
    made = [
        Turn(
            tenant=tenant,
            subject=subject,
            conversation="c",
            message_id=name,
            role=Role.USER,
            text=text,
            at=f"2026-11-01T00:00:{number:02}Z",
        )
        for number, (name, text) in enumerate(lines)
    ]
    publish(settings, [message(TURNS, f"{tenant}:{subject}", turn, turn.message_id) for turn in made])


def order(settings: Settings, tenant: str, subject: str, action: Action, name: str, **what: Any) -> None:
    event = Control(
        tenant=tenant,
        subject=subject,
        request_id=name,
        actor=Actor.PERSON,
        at="2026-11-02T00:00:00Z",
        action=action,
        **what,
    )
    publish(settings, [message(TURNS, f"{tenant}:{subject}", event, name)])


def rows(settings: Settings, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connect(settings.database, autocommit=True) as conn:
        cursor = conn.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def handle_of(settings: Settings, tenant: str, subject: str) -> bytes:
    vault = open_vault(settings)
    ref = vault.lookup(tenant, create=True).subject(subject)
    vault.close()
    found = rows(settings, "SELECT handle FROM subjects WHERE ref = %s", ref)
    return found[0][0] if found else b""


def held(settings: Settings, tenant: str, subject: str) -> dict[str, tuple[str, str]]:
    """Status and id by value, whatever the status."""
    handle = handle_of(settings, tenant, subject)
    if not handle:
        return {}
    vault = open_vault(settings)
    with connect(settings.database, autocommit=True) as conn:
        keys = vault.data_keys([handle])[handle]
        found = load_memories(conn, keys, 1, frozenset(MemoryStatus))
    vault.close()
    return {record.content.value: (record.status.value, record.id) for record in found}


def statuses(settings: Settings, tenant: str, subject: str) -> dict[str, str]:
    return {value: status for value, (status, _) in held(settings, tenant, subject).items()}


def through(settings: Settings) -> bool:
    """Everything read, published and indexed."""
    admin = admin_client(settings)
    for name in NAMES:
        now = {(row[0], row[1]): row[2] for row in rows(settings, POSITIONS, name)}
        for end in offsets.log_ends(admin, SUBSCRIPTIONS[name]):
            if end.high > now.get((end.topic_id, end.part), 0):
                return False
    return rows(settings, FLIGHT) == [(0, 0, 0)]


POSITIONS = "SELECT l.topic_id, p.part, p.next FROM positions p JOIN logs l ON l.no = p.log WHERE p.consumer = %s"
FLIGHT = """
SELECT (SELECT count(*) FROM outbox WHERE consumer <> 'purger'),
       (SELECT count(*) FROM vectors WHERE state <> 'written'),
       (SELECT count(*) FROM memories WHERE status = 'active' AND indexed_version IS DISTINCT FROM version)
"""


def work(settings: Settings) -> None:
    """Let the pipeline, without the purger, come to rest."""
    with Crew(settings, NAMES):
        until(lambda: through(settings), 60, "the pipeline rests")


def expire(settings: Settings, tenant: str, subject: str, value: str, days: int = 40) -> None:
    """As if a memory had ended so many days ago; its point is left, as an indexer that is late would."""
    memory = bytes.fromhex(held(settings, tenant, subject)[value][1])
    rows(settings, "UPDATE memories SET expires_at = now() - %s * interval '1 day' WHERE id = %s", days, memory)
    rows(settings, "UPDATE memories SET status = 'expired', version = version + 1 WHERE id = %s", memory)


@pytest.fixture
def purger(settings: Settings) -> Iterator[Parts]:
    parts = Parts.open(settings)
    yield parts
    parts.close()


def clean(parts: Parts) -> int:
    """Play the purger's thread until it has nothing to do; give how many turns that took."""
    saga, turns = parts.saga(), 0
    saga.expiry.open_days()
    while found := book.due(parts.erasing(), watched=False):
        saga.advance(found[0])
        turns += 1
    return turns


def receipts(settings: Settings, tenant: str) -> list[dict[str, Any]]:
    """What this tenant's receipts say, each verified as an outsider would."""
    vault = open_vault(settings)
    ref = vault.tenant_ref(tenant)
    vault.close()
    found = rows(settings, "SELECT envelope, evidence FROM receipts WHERE tenant = %s ORDER BY seq", ref)
    trusted = load_keys(public_keys_file(settings).read_bytes())
    chain = [envelope for envelope, _ in found]
    said = []
    for envelope, evidence in found:
        verdict = verify(envelope, trusted, evidence=evidence, chain=chain)
        assert verdict.valid, verdict.reasons
        said.append(json.loads(b64decode(json.loads(envelope)["payload"]))["predicate"])
    return said


def counts(receipt: dict[str, Any]) -> dict[str, int]:
    return {line["entry"]: line["before"] for line in receipt["lines"] if line["before"]}


def points(settings: Settings, tenant: str, subject: str) -> int:
    index = VectorIndex(settings)
    try:
        return index.count(handle_of(settings, tenant, subject))
    finally:
        index.close()


def set_back(settings: Settings) -> None:
    """All positions to zero."""
    rows(settings, "UPDATE positions SET next = 0")
    admin = admin_client(settings)
    for name in NAMES:
        parts = [TopicPartition(end.topic, end.part, 0) for end in offsets.log_ends(admin, SUBSCRIPTIONS[name])]
        group = offsets.group_id(name)
        admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, parts)])[group].result(10)


TABLES = (*datamap.TABLES, "vectors")


def stored(settings: Settings, tenant: str, subjects: Sequence[str]) -> dict[str, int]:
    handles = [handle_of(settings, tenant, subject) for subject in subjects]
    return {
        table: rows(settings, f"SELECT count(*) FROM {table} WHERE handle = ANY(%s)", handles)[0][0] for table in TABLES
    }


def test_expired_memories_go_in_batches_with_one_receipt_a_tenant_and_day(
    settings: Settings,
    topics: None,
    purger: Parts,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(What, "batch", property(lambda _: 2))
    say(settings, "t1", "ann", ("m1", "I like tea."), ("m2", "I like jazz."), ("m3", "I like chess."))
    say(settings, "t1", "bob", ("m1", "I like tea."), ("m2", "I like jazz."))
    say(settings, "t1", "eve", ("m1", "I like tea."))
    say(settings, "t2", "cat", ("m1", "I like tea."), ("m2", "I like jazz."))
    work(settings)
    assert clean(purger) == 0 and not rows(settings, "SELECT 1 FROM erasures")
    for tenant, subject in (("t1", "ann"), ("t1", "bob"), ("t1", "eve"), ("t2", "cat")):
        expire(settings, tenant, subject, "tea")
    # Not so long ago that it is due.
    expire(settings, "t1", "bob", "jazz", days=20)
    with redis_client(settings) as client:
        kept, others = (handle_of(settings, "t1", subject) for subject in ("ann", "bob"))
        keep(client, recall_key(kept, 1, 0, b"r" * 16), b"sealed", 10**6)
        keep(client, recall_key(others, 1, 10**6, b"r" * 16), b"sealed", 10**6)

    # Two batches and the end of the first tenant's day, one batch and the end of the other's.
    assert clean(purger) == 5
    assert statuses(settings, "t1", "ann") == {"jazz": "active", "chess": "active"}
    assert statuses(settings, "t1", "bob") == {"jazz": "expired"}
    assert statuses(settings, "t1", "eve") == {}
    assert statuses(settings, "t2", "cat") == {"jazz": "active"}
    assert [points(settings, "t1", subject) for subject in ("ann", "bob", "eve")] == [2, 1, 0]
    with redis_client(settings) as client:
        assert set(client.scan_iter(match="recall:*")) == {recall_key(others, 1, 10**6, b"r" * 16).encode()}
    [first], [other] = receipts(settings, "t1"), receipts(settings, "t2")
    for receipt in (first, other):
        assert (receipt["selector"], receipt["state"], receipt["subjectTag"]) == ("expiry", "final", None)
        assert {line["entry"] for line in receipt["lines"]} == LINES
        assert {line["eraser"] for line in receipt["lines"]} == {entry.eraser for entry in datamap.ENTRIES}
        assert not any(line["after"] for line in receipt["lines"])
    assert counts(first) == counts(other) | {
        name: 3 * count for name, count in counts(other).items() if name != "redis.cache"
    } | {"redis.cache": 1}
    assert {name: counts(other)[name] for name in ("postgres.memories", "postgres.sources", "qdrant.memories")} == {
        "postgres.memories": 1,
        "postgres.sources": 1,
        "qdrant.memories": 1,
    }
    lines = {line["entry"]: line for line in first["lines"]}
    assert (lines["postgres.memories"]["status"], lines["postgres.memories"]["proven"]) == ("erased", ["absent"])
    assert lines["vault.keys"]["status"] == "retained"

    # What turns up on the same day is told by a newer receipt of that day, which counts all.
    expire(settings, "t1", "ann", "jazz")
    clean(purger)
    again = receipts(settings, "t1")
    assert [one["erasureId"] for one in again] == [first["erasureId"]] * 2
    assert again[1]["supersedes"] is not None and counts(again[1])["postgres.memories"] == 4
    assert statuses(settings, "t1", "ann") == {"chess": "active"}
    assert clean(purger) == 0 and len(receipts(settings, "t2")) == 1

    # The command line lists it by its kind: nobody has asked for it.
    monkeypatch.setenv("OBELUS_HOME", str(settings.home))
    monkeypatch.setenv("OBELUS_DATABASE", settings.database)
    with pytest.raises(SystemExit) as ended:
        main(["erasures", "--json"])
    assert ended.value.code in (0, None)
    listed = {row["erasure_id"]: row for row in json.loads(capsys.readouterr().out)["erasures"]}
    assert {name: (row["kind"], row["state"], row["request_id"]) for name, row in listed.items()} == {
        name: ("expiry", "final", None) for name in (first["erasureId"], other["erasureId"])
    }

    # Read again from the beginning, and asked for by the platform: nothing comes back.
    before = stored(settings, "t1", ["ann", "eve"])
    set_back(settings)
    work(settings)
    assert stored(settings, "t1", ["ann", "eve"]) == before
    say(settings, "t1", "ann", ("m1", "I like tea."))
    order(settings, "t1", "ann", Action.PRE_COMPRESS, "p1", conversation="c")
    work(settings)
    after = stored(settings, "t1", ["ann", "eve"])
    assert after == before | {"controls": before["controls"] + 1}
    # Said anew, it is a new memory.
    say(settings, "t1", "ann", ("m9", "I like tea."))
    work(settings)
    assert statuses(settings, "t1", "ann") == {"chess": "active", "tea": "active"}


def test_what_an_expired_memory_had_replaced_stays_replaced(settings: Settings, topics: None, purger: Parts) -> None:
    say(settings, "t3", "lea", ("m1", "I live in Lyon."), ("m2", "I moved to Porto."))
    work(settings)
    assert statuses(settings, "t3", "lea") == {"Lyon": "superseded", "Porto": "active"}
    expire(settings, "t3", "lea", "Porto")
    clean(purger)
    assert statuses(settings, "t3", "lea") == {"Lyon": "superseded"}
    say(settings, "t3", "lea", ("m3", "I live in Nice."))
    work(settings)
    found = statuses(settings, "t3", "lea")
    assert found["Nice"] == "active" and found["Lyon"] in ("superseded", "revoked")
    # Until it is said again.
    say(settings, "t3", "lea", ("m4", "I moved to Lyon."))
    work(settings)
    assert statuses(settings, "t3", "lea") == {"Nice": "superseded", "Lyon": "active"}


def test_a_conflict_that_loses_its_other_side_is_settled(settings: Settings, topics: None, purger: Parts) -> None:
    say(settings, "t7", "zoe", ("m1", "I live in Lyon."), ("m2", "I live in Porto."))
    work(settings)
    # As if a tool had said the one and the person the other.
    tool = bytes.fromhex(held(settings, "t7", "zoe")["Porto"][1])
    rows(settings, "UPDATE sources SET source_type = 'tool_verified', replaces = false WHERE memory = %s", tool)
    handle = handle_of(settings, "t7", "zoe")
    rows(settings, "UPDATE memories SET status = 'conflicted' WHERE handle = %s", handle)
    expire(settings, "t7", "zoe", "Porto")
    clean(purger)
    assert statuses(settings, "t7", "zoe") == {"Lyon": "active"}
    query = "SELECT convert_from(body, 'UTF8') FROM outbox WHERE consumer = 'purger' AND topic = %s AND key = %s"
    told = [json.loads(row[0])["status"] for row in rows(settings, query, CHANGES, handle.hex())]
    assert sorted(told) == ["active", "deleted"]


def test_old_turns_and_candidates_go_and_the_memory_keeps_its_sources(
    settings: Settings, topics: None, purger: Parts
) -> None:
    say(
        settings,
        "t4",
        "max",
        ("m1", "I like tea."),
        ("m2", "What time is it?"),
        ("m3", "Remember that my address is 5 Main Street."),
    )
    say(settings, "t4", "noa", ("m1", "I like tea."))
    work(settings)
    old, young = handle_of(settings, "t4", "max"), handle_of(settings, "t4", "noa")
    rows(settings, "UPDATE candidates SET expires_at = now() - interval '2 days' WHERE handle = ANY(%s)", [old, young])
    clean(purger)
    assert stored(settings, "t4", ["max", "noa"])["candidates"] == 0
    decided = stored(settings, "t4", ["max"])["decisions"]
    rows(settings, "UPDATE turns SET stored_at = now() - interval '200 days' WHERE handle = %s", old)
    clean(purger)
    left = stored(settings, "t4", ["max"])
    assert (left["turns"], left["memories"], left["sources"], left["refusals"]) == (0, 1, 1, 3)
    # The way from the memory to its message stays; what came to nothing has none.
    assert left["decisions"] == 1 < decided
    assert rows(settings, "SELECT count(*) FROM lineage WHERE handle = %s AND parent_kind = 'turn'", old) == [(1,)]
    assert stored(settings, "t4", ["noa"])["turns"] == 1
    [one, two] = receipts(settings, "t4")
    assert counts(one)["postgres.candidates"] == decided + 1 and "postgres.turns" not in counts(one)
    assert (counts(two)["postgres.turns"], one["erasureId"]) == (3, two["erasureId"])

    set_back(settings)
    work(settings)
    assert stored(settings, "t4", ["max"]) == left
    # An order stands after what was said, though the rows of that are gone.
    [(_, memory)] = held(settings, "t4", "max").values()
    order(settings, "t4", "max", Action.DISABLE, "d1", memory=memory)
    work(settings)
    assert statuses(settings, "t4", "max") == {"tea": "revoked"}


def test_what_is_undecided_waits_for_policy_and_its_turn_with_it(
    settings: Settings, topics: None, purger: Parts
) -> None:
    """P10."""
    say(settings, "t6", "ben", ("m1", "I like tea."))
    with Crew(settings, ["extractor"]):
        until(lambda: stored(settings, "t6", ["ben"])["candidates"] == 1, 30, "it is proposed")
    handle = handle_of(settings, "t6", "ben")
    rows(settings, "UPDATE candidates SET expires_at = now() - interval '9 days' WHERE handle = %s", handle)
    rows(settings, "UPDATE turns SET stored_at = now() - interval '200 days' WHERE handle = %s", handle)
    assert clean(purger) == 0
    work(settings)
    assert statuses(settings, "t6", "ben") == {"tea": "active"}
    # Decided, the one goes and then the other, on one day.
    clean(purger)
    left = stored(settings, "t6", ["ben"])
    assert (left["turns"], left["candidates"], left["memories"]) == (0, 0, 1)
    [receipt] = receipts(settings, "t6")
    assert (counts(receipt)["postgres.turns"], counts(receipt)["postgres.candidates"]) == (1, 1)


def test_who_has_lost_the_erasure_cuts_nothing(settings: Settings, topics: None, purger: Parts) -> None:
    """A purger that was stopped for longer than its lease goes on where another one has taken over."""
    old = seed(settings, "t8", "kim", 2)
    query = "UPDATE memories SET status = 'expired', expires_at = now() - interval '40 days' WHERE handle = %s"
    rows(settings, query, old.handle)
    expiry, conn = purger.saga().expiry, purger.erasing()
    [erasure] = expiry.open_days()
    mine = book.take(conn, erasure)
    assert mine is not None
    due = [Due(row[0], lock_of(old.ref), old.handle) for row in rows(settings, "SELECT id FROM memories")]
    with pytest.raises(TransientError):
        expiry.batch.take(replace(mine, owner="another"), What.MEMORIES, due, Work())
    assert stored(settings, "t8", ["kim"])["memories"] == 2
    book.release(conn, mine, 0, 0)
    clean(purger)
    assert stored(settings, "t8", ["kim"])["memories"] == 0


def test_an_edited_message_that_is_gone_stays_gone_in_every_revision(
    settings: Settings, topics: None, purger: Parts
) -> None:
    def revised(text: str, revision: int) -> None:
        event = Turn(
            tenant="t5",
            subject="ida",
            conversation="c",
            message_id="m1",
            role=Role.USER,
            text=text,
            at="2026-11-01T00:00:00Z",
            revision=revision,
        )
        publish(settings, [message(TURNS, "t5:ida", event, f"m1.{revision}")])

    revised("I like tea.", 0)
    work(settings)
    revised("I like jazz.", 1)
    work(settings)
    until(lambda: statuses(settings, "t5", "ida") == {"jazz": "active"} or work(settings), 30, "the edit counts")
    work(settings)
    expire(settings, "t5", "ida", "jazz")
    rows(settings, "UPDATE candidates SET expires_at = now() - interval '2 days'")
    rows(settings, "UPDATE turns SET stored_at = now() - interval '200 days' WHERE revision > 0")
    clean(purger)
    left = stored(settings, "t5", ["ida"])
    assert (left["turns"], left["memories"], left["candidates"]) == (0, 0, 0)
    set_back(settings)
    work(settings)
    now = stored(settings, "t5", ["ida"])
    # The point of the older text is the indexer's to take away.
    assert {name: now[name] for name in datamap.TABLES if name != "lineage"} == {
        name: left[name] for name in datamap.TABLES if name != "lineage"
    }


def test_what_was_made_of_an_expired_memory_is_ordered_from_its_owner(settings: Settings, topics: None) -> None:
    owners = Owners(settings)
    old, young = (seed(settings, owners.tenant, name, 1) for name in ("ann", "bob"))
    owners.register("gone-1", *memories(owners, old))
    owners.register("both-2", *memories(owners, old), *memories(owners, young))
    owners.told()
    query = "UPDATE memories SET status = 'expired', expires_at = now() - interval '40 days' WHERE handle = %s"
    rows(settings, query, old.handle)
    clean(owners.parts)
    [(erasure, state)] = rows(settings, "SELECT id, state FROM erasures WHERE tenant = %s", old.tenant_ref)
    owners.erasures.add(erasure.hex())
    orders = owners.told()
    assert {(order["action"], *owners.names(order)) for order in orders} == {
        ("erase", "gone-1"),
        ("recompute", "both-2"),
    }
    assert (state, owners.line(erasure)) == ("verified", ("external", "owner_silent"))
    assert [owners.answer(order) for order in orders] == [None, None]
    assert owners.advance(erasure) == "final"
    assert owners.line(erasure) == ("erased", None)
    [first, second] = receipts(settings, owners.tenant)
    assert second["supersedes"] and counts(first)["owners.artefacts"] == counts(second)["owners.artefacts"] == 2
    owners.close()
