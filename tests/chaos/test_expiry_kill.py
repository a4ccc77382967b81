"""The purger killed at every step of a day's expiry: each run ends alike, in one receipt that counts all once."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from consumers import faults
from policy.verification import load_keys, verify
from schemas import datamap
from schemas.settings import Settings
from stores.database import connect
from stores.signing import public_keys_file
from stores.vectors import VectorIndex
from tests.chaos.harness import Process, obelus_run, until
from tests.seeding import Seeded, seed

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.slow]

ERASERS = ("logs", "postgres", "vectors", "redis", "owners")
STEPS = (
    "blocked",
    "batch_cut",
    "batch_taken",
    *(f"{moment}_{name}" for name in ERASERS for moment in ("counted", "observing", "erased")),
    "batch_proven",
    "batch_folding",
    "batch_folded",
    "receipt_stored",
    "receipt_committed",
    "chained",
)
SAMPLE = {"batch_taken", "batch_folding", "receipt_committed"}


def rows(settings: Settings, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connect(settings.database, autocommit=True) as connection:
        cursor = connection.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def age(settings: Settings, seeded: Seeded, *, memories: int) -> None:
    """As if some memories had long ended, and everything had been said half a year and more ago."""
    query = "SELECT id FROM memories WHERE handle = %s ORDER BY turn_row LIMIT %s"
    ids = [row[0] for row in rows(settings, query, seeded.handle, memories)]
    rows(
        settings,
        "UPDATE memories SET status = 'expired', expires_at = now() - interval '40 days' WHERE id = ANY(%s)",
        ids,
    )
    for table, column, days in (("candidates", "expires_at", 2), ("turns", "stored_at", 200)):
        rows(
            settings,
            f"UPDATE {table} SET {column} = now() - %s * interval '1 day' WHERE handle = %s",
            days,
            seeded.handle,
        )


def left_of(settings: Settings, seeded: Seeded) -> dict[str, int]:
    index = VectorIndex(settings)
    try:
        query = "SELECT count(*) FROM {} WHERE handle = %s"
        tables = (*datamap.TABLES, "vectors", "subjects")
        counts = {table: rows(settings, query.format(table), seeded.handle)[0][0] for table in tables}
        return counts | {"points": index.count(seeded.handle)}
    finally:
        index.close()


@pytest.mark.parametrize("step", [pytest.param(s, marks=pytest.mark.sample) if s in SAMPLE else s for s in STEPS])
def test_killed_at(step: str, fresh_settings: Settings, topics: None) -> None:
    settings = fresh_settings
    old, half, young = (seed(settings, "t1", name, 3) for name in ("old", "half", "young"))
    age(settings, old, memories=3)
    age(settings, half, memories=1)
    rows(settings, "UPDATE candidates SET expires_at = now() + interval '1 day' WHERE handle = %s", young.handle)
    rows(settings, "INSERT INTO logs (topic, topic_id) VALUES ('memory.turns', 'x')")
    others = left_of(settings, young)
    with Process(obelus_run("purger"), settings, fault=faults.SAGA + step) as first:
        assert first.wait(60) == -signal.SIGKILL, first.text[-2000:]
    with Process(obelus_run("purger"), settings) as second:
        until(lambda: rows(settings, "SELECT state FROM erasures") == [("final",)], 60, lambda: second.text[-2000:])
        until(lambda: not rows(settings, "SELECT 1 FROM outbox"), 30, "its messages are out")
        assert second.terminate() == 0
    left = left_of(settings, old)
    assert not any(left[name] for name in left if name not in ("refusals", "subjects"))
    left = left_of(settings, half)
    assert (left["turns"], left["candidates"], left["memories"], left["points"], left["sources"]) == (0, 0, 2, 2, 2)
    assert left_of(settings, young) == others
    [(envelope, evidence)] = rows(settings, "SELECT envelope, evidence FROM receipts")
    verdict = verify(envelope, load_keys(public_keys_file(settings).read_bytes()), evidence=evidence, chain=[envelope])
    assert verdict.valid
    lines = {line["entry"]: line for line in verdict.predicate["lines"]}
    assert set(lines) == set(datamap.BY_NAME)
    # Counted once, whichever run did the counting.
    for entry, count in {
        "postgres.memories": 4,
        "postgres.turns": 6,
        "postgres.candidates": 6,
        "qdrant.memories": 4,
    }.items():
        assert (entry, lines[entry]["status"], lines[entry]["before"]) == (entry, "erased", count)
