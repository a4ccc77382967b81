"""The purger killed at every step of its saga: each run ends in one complete receipt, nothing doubled."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from consumers import faults
from policy.verification import load_keys, verify
from schemas import datamap
from schemas.events import Deletion, Selector
from schemas.settings import Settings
from schemas.topics import DELETIONS
from schemas.words import SelectorKind
from stores.database import connect
from stores.signing import public_keys_file
from stores.vault import open_vault
from stores.vectors import VectorIndex
from streams.codec import message
from streams.producer import publish
from tests.chaos.harness import Process, obelus_run, until
from tests.seeding import Seeded, seed

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.slow]

ERASERS = ("logs", "postgres", "subjects", "vectors", "redis", "owners", "vault")
STEPS = (
    "planned",
    "vault_blocked",
    "blocked",
    *(f"{moment}_{name}" for name in ERASERS for moment in ("counted", "observing", "erased")),
    "observed",
    "receipt_stored",
    "receipt_committed",
    "chained",
)
POINTS = (
    *(faults.SAGA + step for step in STEPS),
    faults.BEFORE_PG_COMMIT,
    faults.AFTER_PG_COMMIT,
    faults.IN_SETTLE,
)
SAMPLE = {"purger_vault_blocked", "purger_erased_postgres", "purger_receipt_committed"}


def order(settings: Settings, subject: str) -> None:
    event = Deletion(
        request_id=f"r-{subject}",
        tenant="t1",
        requested_by="officer",
        selector=Selector(kind=SelectorKind.SUBJECT, subject=subject),
    )
    publish(settings, [message(DELETIONS, f"t1:{subject}", event, f"r-{subject}")])


def rows(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    with connect(settings.database, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def ended(settings: Settings) -> bool:
    return rows(settings, "SELECT state FROM erasures") == [("final",)]


def left_of(settings: Settings, seeded: Seeded) -> dict[str, int]:
    index, vault = VectorIndex(settings), open_vault(settings)
    try:
        with connect(settings.database, autocommit=True) as conn:
            counts = {
                table: conn.execute(f"SELECT count(*) FROM {table} WHERE handle = %s", (seeded.handle,)).fetchone()[0]
                for table in (*datamap.TABLES, "vectors", "subjects")
            }
        return counts | {"points": index.count(seeded.handle), "key": len(vault.key_exists([seeded.handle]))}
    finally:
        index.close()
        vault.close()


@pytest.mark.parametrize(
    "point",
    [pytest.param(p, marks=pytest.mark.sample) if p in SAMPLE else p for p in POINTS],
)
def test_killed_at(point: str, fresh_settings: Settings, topics: None) -> None:
    settings = fresh_settings
    gone, stays = seed(settings, "t1", f"a-{point}", 4), seed(settings, "t1", f"b-{point}", 2)
    others = left_of(settings, stays)
    with Process(obelus_run("purger"), settings, fault=point) as first:
        until(lambda: "resynchronised" in first.text, 60, lambda: f"it runs: {first.text[-2000:]}")
        order(settings, gone.subject)
        assert first.wait(60) == -signal.SIGKILL, first.text[-2000:]
    with Process(obelus_run("purger"), settings) as second:
        until(lambda: ended(settings), 60, lambda: f"{point}: {second.text[-2000:]}")
        # What the outbox holds is out before the process is stopped.
        until(lambda: not rows(settings, "SELECT 1 FROM outbox"), 30, "its messages are out")
        assert second.terminate() == 0
    assert not any(left_of(settings, gone).values())
    assert left_of(settings, stays) == others
    # One receipt, and newer ones that supersede it as the log's properties rise, each in the place of the one before.
    receipts = rows(settings, "SELECT envelope, evidence, digest, supersedes FROM receipts ORDER BY seq")
    assert [row[3] for row in receipts] == [None, *(row[2] for row in receipts[:-1])]
    envelope, evidence = receipts[-1][:2]
    trusted = load_keys(public_keys_file(settings).read_bytes())
    verdict = verify(envelope, trusted, evidence=evidence, chain=[row[0] for row in receipts])
    assert verdict.valid
    lines = {line["entry"]: line for line in verdict.predicate["lines"]}
    assert set(lines) == set(datamap.BY_NAME)
    # Counted before anything was taken away, whichever run did the counting.
    for entry, count in {"postgres.turns": 4, "postgres.memories": 4, "qdrant.memories": 4}.items():
        assert (lines[entry]["status"], lines[entry]["before"]) == ("erased", count)
    assert rows(settings, "SELECT epoch FROM subjects WHERE fenced_at IS NOT NULL") == [(2,)]
