"""H10, H11: by whatever way a deletion comes, every eraser runs; what only ends a memory's use deletes nothing."""

from __future__ import annotations

import secrets
import time
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from schemas import datamap
from schemas.events import Deletion, Selector
from schemas.topics import DELETIONS
from schemas.words import Action, SelectorKind
from stores.database import connect
from stores.vault import open_vault
from stores.vectors import VectorIndex
from streams.codec import message
from streams.producer import publish
from tests.running import Pipeline

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TENANT = "default"
ERASERS = {entry.eraser for entry in datamap.ENTRIES}


def turn(subject: str, name: str, text: str) -> dict[str, Any]:
    return {
        "tenant": TENANT,
        "subject": subject,
        "conversation": "c1",
        "message_id": name,
        "role": "user",
        "text": text,
        "at": datetime.now(UTC).isoformat(),
    }


def known(pipeline: Pipeline, subject: str) -> list[dict[str, Any]]:
    return list(pipeline.ask("memories", "--tenant", TENANT, "--subject", subject, "--all")["memories"])


def by_topic(pipeline: Pipeline, subject: str, memory: str) -> str:
    request = secrets.token_hex(6)
    selector = Selector(kind=SelectorKind.SUBJECT, subject=subject)
    event = Deletion(request_id=request, tenant=TENANT, requested_by="officer", selector=selector)
    publish(pipeline.settings, [message(DELETIONS, f"{TENANT}:{subject}", event, request)])
    return request


def by_command(pipeline: Pipeline, subject: str, memory: str) -> str:
    return str(pipeline.ask("forget", "--tenant", TENANT, "--subject", subject)["request_id"])


def by_api(pipeline: Pipeline, subject: str, memory: str) -> str:
    answer = pipeline.call("compliance", "POST", "/v1/forget", json={"subject": subject})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["request_id"])


def by_api_one_memory(pipeline: Pipeline, subject: str, memory: str) -> str:
    selector = {"kind": "memory", "subject": subject, "id": memory}
    answer = pipeline.call("compliance", "POST", "/v1/forget", json={"selector": selector})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["request_id"])


def by_command_one_memory(pipeline: Pipeline, subject: str, memory: str) -> str:
    return str(pipeline.ask("forget", "--tenant", TENANT, "--subject", subject, "--memory", memory)["request_id"])


WHOLE = (by_topic, by_command, by_api)
NARROW = (by_api_one_memory, by_command_one_memory)


def verified(pipeline: Pipeline, request: str, within: float = 180.0) -> dict[str, dict[str, Any]]:
    """Wait for the first receipt of a request; give its lines by entry, with the eraser that made each."""
    settings = pipeline.settings
    vault = open_vault(settings)
    lookup = vault.lookup(TENANT)
    vault.close()
    assert lookup is not None
    query = "SELECT envelope FROM receipts WHERE erasure = %s ORDER BY seq LIMIT 1"
    until = time.monotonic() + within
    with connect(settings.database, autocommit=True) as conn:
        while not (row := conn.execute(query, (lookup.holder(request),)).fetchone()):
            assert time.monotonic() < until, "no receipt"
            time.sleep(0.1)
    statement = orjson.loads(b64decode(orjson.loads(row[0])["payload"]))
    return {line["entry"]: line for line in statement["predicate"]["lines"]}


def points(pipeline: Pipeline, memory: str) -> set[bytes]:
    """What the ledger says of a memory's points."""
    with connect(pipeline.settings.database, autocommit=True) as conn:
        rows = conn.execute("SELECT point FROM vectors WHERE memory = %s", (bytes.fromhex(memory),)).fetchall()
    return {row[0] for row in rows}


def existing(pipeline: Pipeline, ids: set[bytes]) -> set[bytes]:
    index = VectorIndex(pipeline.settings)
    try:
        return index.existing(ids)
    finally:
        index.close()


@pytest.mark.parametrize("way", [*WHOLE, *NARROW])
def test_every_way_runs_every_eraser(running: Pipeline, way: Callable[[Pipeline, str, str], str]) -> None:
    subject = f"way-{secrets.token_hex(4)}"
    running.publish(turn(subject, "m1", "I love jazz."), turn(subject, "m2", "I live in Lyon."), tenant=TENANT)
    found = {memory["value"]: memory["id"] for memory in known(running, subject)}
    jazz, lyon = found["jazz"], found["Lyon"]
    mine, other = points(running, jazz), points(running, lyon)
    assert len(existing(running, mine)) == 1 and len(existing(running, other)) == 1

    lines = verified(running, way(running, subject, jazz))
    assert set(lines) == set(datamap.BY_NAME)
    assert {line["eraser"] for line in lines.values()} == ERASERS
    assert (lines["qdrant.memories"]["status"], lines["qdrant.memories"]["after"]) == ("erased", 0)
    assert lines["postgres.memories"]["status"] == "erased"
    # The product's own view, the index by id, and what is recalled.
    left = [] if way in WHOLE else ["Lyon"]
    assert [memory["value"] for memory in known(running, subject)] == left
    assert existing(running, mine) == set()
    assert len(existing(running, other)) == len(left)
    recalled = running.ask("recall", "--tenant", TENANT, "--subject", subject, "What do I love? Where do I live?")
    assert [item["value"] for item in recalled["items"]] == left


CONTROLS = (
    ("decline", "jazz", ()),
    ("disable", "tea", ()),
    ("correct", "chess", ("--value", "go")),
    ("narrow", "opera", ("--scope", "work")),
    ("rollback", "tea", ()),
    ("revert", None, ("--conversation", "c1")),
    ("pre_compress", None, ("--conversation", "c1")),
    ("pause", None, ()),
    ("resume", None, ()),
    ("off", None, ()),
    ("on", None, ()),
)
"""Controls take a memory out of use, or stop or begin listening; what is stored stays until somebody asks to forget."""


def test_controls_delete_nothing(running: Pipeline) -> None:
    subject = f"way-{secrets.token_hex(4)}"
    loved = ("jazz", "tea", "chess", "opera")
    running.publish(*(turn(subject, f"m{n}", f"I love {what}.") for n, what in enumerate(loved)), tenant=TENANT)
    memories = {memory["value"]: memory["id"] for memory in known(running, subject)}
    assert set(memories) == set(loved)
    before = kept(running, subject)
    for action, about, options in CONTROLS:
        named = ("--memory", memories[about]) if about else ()
        running.ask("control", action, "--tenant", TENANT, "--subject", subject, *named, *options)
        running.wait()
        after = kept(running, subject)
        assert all(after[table] >= count for table, count in before.items()), (action, before, after)
        before = after
    assert {action for action, _, _ in CONTROLS} | {"confirm"} == {action.value for action in Action}
    assert erasures_of(running, subject) == 0
    assert {memory["status"] for memory in known(running, subject)} <= {"active", "revoked", "superseded"}


def test_disabled_is_out_of_use_and_forgotten_is_gone(running: Pipeline) -> None:
    """Revocation and deletion are two things: the first takes the point, the second what it was made from too."""
    subject = f"way-{secrets.token_hex(4)}"
    running.publish(turn(subject, "m1", "I love jazz."), tenant=TENANT)
    [memory] = known(running, subject)
    mine = points(running, memory["id"])
    running.ask("control", "disable", "--tenant", TENANT, "--subject", subject, "--memory", memory["id"])
    running.wait()
    assert [one["status"] for one in known(running, subject)] == ["revoked"]
    assert existing(running, mine) == set()
    verified(running, by_command_one_memory(running, subject, memory["id"]))
    assert known(running, subject) == []


def handle_of(pipeline: Pipeline, subject: str) -> tuple[bytes, bytes | None]:
    vault = open_vault(pipeline.settings)
    lookup = vault.lookup(TENANT)
    vault.close()
    assert lookup is not None
    ref = lookup.subject(subject)
    with connect(pipeline.settings.database, autocommit=True) as conn:
        row = conn.execute("SELECT handle FROM subjects WHERE ref = %s", (ref,)).fetchone()
    return ref, row[0] if row else None


def kept(pipeline: Pipeline, subject: str) -> dict[str, int]:
    """Rows of a person, by table."""
    _, handle = handle_of(pipeline, subject)
    # Edges and ledger follow the points, which only active memories have.
    tables = ("turns", "candidates", "decisions", "memories", "memory_versions", "sources")
    with connect(pipeline.settings.database, autocommit=True) as conn:
        return {
            table: conn.execute(f"SELECT count(*) FROM {table} WHERE handle = %s", (handle,)).fetchone()[0]
            for table in tables
        }


def erasures_of(pipeline: Pipeline, subject: str) -> int:
    ref, _ = handle_of(pipeline, subject)
    with connect(pipeline.settings.database, autocommit=True) as conn:
        return int(conn.execute("SELECT count(*) FROM erasures WHERE subject = %s", (ref,)).fetchone()[0])
