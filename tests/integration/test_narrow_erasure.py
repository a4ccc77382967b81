"""Selectors narrower than a subject, through the real pipeline: what goes, what stays, what comes back."""

from __future__ import annotations

import json
import secrets
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.cli.forgetting import order
from schemas.events import Deletion, Selector, Turn
from schemas.settings import Settings
from schemas.topics import TURNS
from schemas.words import MemoryStatus, Role, SelectorKind
from stores.database import connect
from stores.memory_records import load_memories
from stores.vault import open_vault
from streams.codec import message
from streams.producer import publish
from streams.topics import apply
from tests.chaos.harness import consumers, until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

T = "t1"


@pytest.fixture(scope="module")
def running(settings: Settings) -> Iterator[Settings]:
    from tests.stack import delete_topics

    delete_topics(settings)
    apply(settings)
    names = ("extractor", "gate", "resolver", "indexer", "purger")
    with consumers(settings, names) as processes:
        for name, process in processes.items():
            until(lambda p=process: "resynchronised" in p.text, 60, name)
        yield settings


def say(settings: Settings, subject: str, *lines: tuple[str, str, str]) -> None:
    """Lines are (conversation, message id, text)."""
    for number, (conversation, name, text) in enumerate(lines):
        event = Turn(
            tenant=T,
            subject=subject,
            conversation=conversation,
            message_id=name,
            role=Role.USER,
            text=text,
            at=f"2026-01-01T00:00:{number:02}Z",
        )
        publish(settings, [message(TURNS, f"{T}:{subject}", event, name)])


def held(settings: Settings, subject: str) -> dict[str, str]:
    """Values by status, whatever it is."""
    vault = open_vault(settings)
    with connect(settings.database, autocommit=True) as conn:
        lookup = vault.lookup(T, create=True)
        query = "SELECT handle, epoch FROM subjects WHERE ref = %s"
        row = conn.execute(query, (lookup.subject(subject),)).fetchone()
        if row is None or row[0] is None:
            return {}
        handle, epoch = row
        keys = vault.data_keys([handle])[handle]
        found = load_memories(conn, keys, epoch, frozenset(MemoryStatus))
    vault.close()
    return {record.content.value: record.status.value for record in found}


def memory_of(settings: Settings, subject: str, value: str) -> str:
    vault = open_vault(settings)
    with connect(settings.database, autocommit=True) as conn:
        ref = vault.lookup(T).subject(subject)
        row = conn.execute("SELECT handle, epoch FROM subjects WHERE ref = %s", (ref,)).fetchone()
        keys = vault.data_keys([row[0]])[row[0]]
        found = load_memories(conn, keys, row[1], frozenset(MemoryStatus))
    vault.close()
    return next(record.id for record in found if value in record.content.value)


def forget(settings: Settings, subject: str, kind: SelectorKind, **what: Any) -> dict[str, Any]:
    event = Deletion(
        request_id=secrets.token_hex(6),
        tenant=T,
        requested_by="officer",
        selector=Selector(kind=kind, subject=subject, **what),
    )
    return order(settings, event, wait=True, timeout=60)


def lines_of(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    payload = json.loads(b64decode(answer["receipt"]["payload"]))
    return {line["entry"]: line for line in payload["predicate"]["lines"]}


def test_a_deleted_correction_brings_back_what_it_replaced(running: Settings) -> None:
    """D12, C14."""
    say(running, "lea", ("c1", "m1", "I live in Lyon."), ("c2", "m2", "I moved to Porto."))
    until(lambda: set(held(running, "lea").values()) == {"active", "superseded"}, 30, "both are known")
    answer = forget(running, "lea", SelectorKind.MESSAGE, message="m2")
    assert answer["state"] in ("verified", "final")
    assert list(held(running, "lea").values()) == ["active"]
    assert "Lyon" in next(iter(held(running, "lea")))
    lines = lines_of(answer)
    assert lines["postgres.turns"]["status"] == "erased" and lines["postgres.turns"]["before"] == 1
    assert lines["qdrant.memories"]["status"] == "erased"
    assert lines["vault.keys"]["status"] == "retained"
    # The platform sends the message again: nothing comes of it.
    say(running, "lea", ("c2", "m2", "I moved to Porto."), ("c3", "m9", "I like jazz."))
    until(lambda: len(held(running, "lea")) == 2, 30, "the pipeline is past it")
    assert not [value for value in held(running, "lea") if "Porto" in value]


def test_one_memory_goes_and_its_turn_stays(running: Settings) -> None:
    say(running, "max", ("c1", "m1", "I like tea."), ("c1", "m2", "I like jazz."))
    until(lambda: len(held(running, "max")) == 2, 30, "both are known")
    memory = memory_of(running, "max", "tea")
    answer = forget(running, "max", SelectorKind.MEMORY, id=memory)
    assert answer["state"] in ("verified", "final")
    assert ["tea" in value for value in held(running, "max")] == [False]
    lines = lines_of(answer)
    assert lines["postgres.memories"]["before"] == 1
    assert (lines["postgres.turns"]["status"], lines["postgres.turns"]["reason"]) == (
        "retained",
        "source_kept",
    )


def test_a_memory_with_two_sources_survives_one(running: Settings) -> None:
    say(running, "noa", ("c1", "m1", "I like green tea."), ("c2", "m2", "I like green tea."))
    until(lambda: sources(running, "noa") == 2, 30, "both sources count")
    forget(running, "noa", SelectorKind.CONVERSATION, conversation="c1")
    assert list(held(running, "noa").values()) == ["active"] and sources(running, "noa") == 1
    forget(running, "noa", SelectorKind.CONVERSATION, conversation="c2")
    assert held(running, "noa") == {}


def sources(settings: Settings, subject: str) -> int:
    vault = open_vault(settings)
    ref = vault.lookup(T).subject(subject)
    vault.close()
    with connect(settings.database, autocommit=True) as conn:
        query = "SELECT count(*) FROM sources JOIN subjects USING (handle) WHERE ref = %s"
        return conn.execute(query, (ref,)).fetchone()[0]


def test_what_is_not_there_is_nothing_found(running: Settings) -> None:
    """A20: an unknown id is said to be unknown, once the pipeline is past the request."""
    say(running, "ole", ("c1", "m1", "I like tea."))
    until(lambda: len(held(running, "ole")) == 1, 30, "it is known")
    answer = forget(running, "ole", SelectorKind.MEMORY, id="00" * 16)
    lines = lines_of(answer)
    assert {lines[f"postgres.{table}"]["status"] for table in ("memories", "sources", "turns")} == {"nothing_found"}
    assert len(held(running, "ole")) == 1


def test_an_erased_person_is_gone_from_a_group_and_the_group_lives_on(running: Settings) -> None:
    """W11."""
    for author, name, text in (("pia", "m1", "I like sushi."), ("rob", "m2", "I like pasta.")):
        event = Turn(
            tenant=T,
            subject="room",
            author=author,
            conversation="c",
            message_id=name,
            role=Role.USER,
            text=text,
            at="2026-01-01T00:00:00Z",
        )
        publish(running, [message(TURNS, f"{T}:room", event, name)])
    until(lambda: turns(running, "room") == 2, 30, "both are stored")
    answer = forget(running, "pia", SelectorKind.SUBJECT)
    assert answer["state"] in ("verified", "final")
    assert turns(running, "room") == 1
    assert not [value for value in held(running, "room") if "sushi" in value]
    line = lines_of(answer)["postgres.turns"]
    assert line["before"] == 1 and "shredded" not in line["target"]


def turns(settings: Settings, subject: str) -> int:
    vault = open_vault(settings)
    ref = vault.lookup(T).subject(subject) if vault.lookup(T) else b""
    vault.close()
    with connect(settings.database, autocommit=True) as conn:
        query = "SELECT count(*) FROM turns WHERE subject = %s"
        return conn.execute(query, (ref,)).fetchone()[0]
