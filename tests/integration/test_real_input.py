"""Real conversations through the whole pipeline: what is kept of them, and that nothing else changes.

The data lies beside the repository and is no part of it; without it these tests are skipped.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from qdrant_client import QdrantClient

from consumers.purger.driver import EXPIRY_SECONDS
from policy.document import load_policy
from schemas.settings import Settings
from stores.vault import open_vault
from tests.running import Pipeline

DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = ("memorybank.zh", "memorybank.en", "crosswoz.val.zh")
TENANT = "real-input"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.parent.exists(), reason="the shared data are not beside this repository"),
]


@dataclass(frozen=True)
class Published:
    """The files on a running stack; `users` and `spoken` count lines, all and of role user, by user."""

    pipeline: Pipeline
    users: dict[str, Counter[str]]
    spoken: dict[str, Counter[str]]
    refs: dict[str, bytes]

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.pipeline.settings.database) as connection:
            return connection.execute(sql, values).fetchall()

    def refs_of(self, name: str) -> list[bytes]:
        return [self.refs[user] for user in self.users[name]]


def publish(pipeline: Pipeline) -> None:
    for name in FILES:
        file = str(DATA / f"{name}.jsonl")
        lines = sum(1 for line in Path(file).read_bytes().splitlines() if line.strip())
        assert pipeline.ask("publish", file, "--tenant", TENANT) == {"published": lines}
    pipeline.wait()
    until_time_has_done_its_work(pipeline)


ENDS_BY_ITSELF = """
SELECT (SELECT count(*) FROM memories WHERE expires_at <= now()
            AND status IN ('active', 'suggested', 'pending', 'conflicted', 'quarantined')),
       (SELECT count(*) FROM memories WHERE status = 'expired'
            AND expires_at < date_trunc('day', now(), 'UTC') - %s * interval '1 day'),
       (SELECT count(*) FROM candidates c WHERE expires_at < date_trunc('day', now(), 'UTC')
            AND EXISTS (SELECT FROM decisions d WHERE d.candidate = c.id)),
       (SELECT count(*) FROM erasures WHERE kind = 'expiry' AND state NOT IN ('verified', 'final', 'cancelled'))
"""


def until_time_has_done_its_work(pipeline: Pipeline) -> None:
    """What was said years ago may be past its time at once: the resolver ends it, and the purger, once a minute, takes
    it. Neither must fall between two looks that are compared."""
    days = load_policy(pipeline.settings.policy).retention.expired_days
    until = time.monotonic() + 3 * EXPIRY_SECONDS
    with psycopg.connect(pipeline.settings.database, autocommit=True) as connection:
        while any(left := connection.execute(ENDS_BY_ITSELF, (days,)).fetchone() or (1,)):
            assert time.monotonic() < until, left
            time.sleep(1.0)
    pipeline.wait()


@pytest.fixture(scope="module")
def published(running: Pipeline) -> Iterator[Published]:
    users: dict[str, Counter[str]] = {name: Counter() for name in FILES}
    spoken: dict[str, Counter[str]] = {name: Counter() for name in FILES}
    for name in FILES:
        for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines():
            turn = json.loads(line)
            users[name][turn["user"]] += 1
            spoken[name][turn["user"]] += turn["role"] == "user"
    publish(running)
    with closing(open_vault(running.settings)) as vault:
        lookup = vault.lookup(TENANT)
        assert lookup is not None
        refs = {user: lookup.subject(user) for name in FILES for user in users[name]}
    yield Published(running, users, spoken, refs)


def test_the_event_log_has_a_row_for_every_turn(published: Published) -> None:
    of_subject = dict(published.rows("SELECT subject, count(*) FROM turns GROUP BY 1"))
    for name in FILES:
        wanted = {published.refs[user]: lines for user, lines in published.users[name].items()}
        assert {ref: of_subject.get(ref) for ref in wanted} == wanted


def test_the_same_files_again_add_nothing(published: Published) -> None:
    before = state(published)
    publish(published.pipeline)
    assert state(published) == before


def state(published: Published) -> dict[str, Any]:
    counts = published.pipeline.ask("status")["counts"]
    return {"hash": published.pipeline.ask("audit", "--hash")["hash"], "counts": counts}


def test_every_active_memory_is_in_the_index_and_nothing_else_is(published: Published) -> None:
    assert published.pipeline.ask("audit")["drift"] == []
    active = published.rows(
        "SELECT encode(id, 'hex'), version, encode(handle, 'hex') FROM memories WHERE status = 'active'"
    )
    indexed = [
        (point.payload["memory"], point.payload["version"], point.payload["handle"])
        for point in points(published.pipeline.settings)
    ]
    assert len(active) > 120
    assert sorted(indexed) == sorted(active)


def points(settings: Settings, *, vectors: bool = False) -> list[Any]:
    """Every point of every collection, read with the public client alone."""
    found: list[Any] = []
    with closing(QdrantClient(url=settings.qdrant, check_compatibility=False, trust_env=False)) as client:
        for collection in client.get_collections().collections:
            page: Any = None
            while True:
                some, page = client.scroll(collection.name, limit=500, offset=page, with_vectors=vectors)
                found += some
                if page is None:
                    break
    return found


@pytest.mark.parametrize("name", ["memorybank.zh", "memorybank.en"])
def test_chats_leave_memories(published: Published, name: str) -> None:
    active = published.rows(
        "SELECT count(*) FROM memories WHERE status = 'active' AND subject = ANY(%s)", published.refs_of(name)
    )
    assert active[0][0] >= 60


def test_service_dialogues_leave_hardly_any(published: Published) -> None:
    kept = published.rows(
        "SELECT count(DISTINCT s.turn) FROM sources s JOIN memories m ON m.id = s.memory"
        " WHERE m.status = 'active' AND m.subject = ANY(%s)",
        published.refs_of("crosswoz.val.zh"),
    )
    assert kept[0][0] <= 0.01 * published.spoken["crosswoz.val.zh"].total()


# Last, since it takes away one subject.

KEYED_BY_HANDLE = (
    "turns",
    "refusals",
    "candidates",
    "decisions",
    "memories",
    "memory_versions",
    "sources",
    "lineage",
    "vectors",
)


def test_deleting_one_leaves_the_others_untouched(published: Published) -> None:
    whom = richest(published, "memorybank.zh")
    handle = published.rows("SELECT handle FROM subjects WHERE ref = %s", published.refs[whom])[0][0]
    until_time_has_done_its_work(published.pipeline)
    before = content(published, handle)
    assert len(before) > 500
    assert all(of_one["turns"] for of_one in before.values())
    answer = published.pipeline.ask("forget", "--tenant", TENANT, "--subject", whom, "--wait")
    assert answer["state"] in ("verified", "final")
    after = content(published, handle)
    assert after.keys() == before.keys()
    for other, rows in before.items():
        assert after[other] == rows
    for table in KEYED_BY_HANDLE:
        assert published.rows(f"SELECT count(*) FROM {table} WHERE handle = %s", handle) == [(0,)], table
    assert [one for one in points(published.pipeline.settings) if one.payload["handle"] == handle.hex()] == []
    of = ("--tenant", TENANT, "--subject", whom)
    assert published.pipeline.ask("memories", *of) == {"memories": []}
    assert published.pipeline.ask("audit", *of)["subject"]["erased_but_there"] == {}


def richest(published: Published, name: str) -> str:
    """The user with most active memories, so that there is something to take away."""
    counted = published.rows(
        "SELECT subject FROM memories WHERE status = 'active' AND subject = ANY(%s)"
        " GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
        published.refs_of(name),
    )
    return next(user for user, ref in published.refs.items() if ref == counted[0][0])


def content(published: Published, without: bytes) -> dict[bytes, dict[str, list[Any]]]:
    """Every row and vector of this tenant's other subjects as it lies there, by handle."""
    found: dict[bytes, dict[str, list[Any]]] = {
        handle: {name: [] for name in (*KEYED_BY_HANDLE, "vector")}
        for (handle,) in published.rows(
            "SELECT handle FROM subjects WHERE ref = ANY(%s) AND handle <> %s", list(published.refs.values()), without
        )
    }
    for table in KEYED_BY_HANDLE:
        for handle, row in published.rows(f"SELECT handle, t::text FROM {table} t ORDER BY 2"):
            if handle in found:
                found[handle][table].append(row)
    for point in points(published.pipeline.settings, vectors=True):
        handle = bytes.fromhex(point.payload["handle"])
        if handle in found:
            found[handle]["vector"].append((point.id, point.payload, point.vector))
    return found
