"""H11: every place in the program that deletes, by file; a new one fails here until it is said what it belongs to.

What people ask for goes through the erasers, whichever way it comes (`tests/integration/test_delete_paths.py`). Besides
these only what follows from a row that is gone, or from retention, may be deleted, by the consumer that writes it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from consumers.purger import sweep
from consumers.purger.sweep import Stray
from schemas.eraser import Plan, Scope

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("schemas", "policy", "stores", "streams", "consumers", "recall", "deploy")
_SQL = re.compile(r"\b(?:DELETE\s+FROM|TRUNCATE)\b")
_CALL = re.compile(r"\.(?:delete|delete_scope|destroy_keys|delete_records|unlink|drop|flushdb|flushall|rmtree)\(")

ERASERS = {
    "stores/erasers/tables.py",
    "stores/erasers/points.py",
    "stores/erasers/points.sql",
    "stores/erasers/cache.py",
    "stores/erasers/keys.py",
    "streams/cutter.py",
    "consumers/purger/narrow/erasers.py",
    "consumers/purger/narrow/narrow.sql",
    "consumers/purger/owners/owners.sql",
}
"""What a deletion request runs."""

BELOW = {
    "stores/vault.py": "how a key row is deleted, for who may",
    "stores/vault_ledger.py": "tombstones past their own date",
    "stores/vectors.py": "how points are deleted, for who may",
    "stores/cache.py": "how windows and kept answers are dropped, for who may",
}
"""The stores' own calls; what calls them is listed too."""

FOLLOWING = {
    "stores/subjects.py": "keys drawn for a subject whose row somebody else inserted first, or nobody",
    "streams/sessions/keeper.py": "windows of a fenced or paused subject",
    "consumers/indexer/queries.sql": "the ledger of points that no current version has",
    "consumers/indexer/writer.py": "points whose version or epoch is no longer current",
    "consumers/indexer/sweep.py": "points that PostgreSQL knows nothing of",
    "consumers/extractor/queries.sql": "candidates of a message that was edited before it was decided",
    "consumers/resolver/queries.sql": "what rested on the older text of an edited message",
    "consumers/outbox.sql": "messages that are out; they carry no content",
    "recall/cached.py": "a kept answer that does not open",
    "stores/copies.sql": "edges of copies that were dropped or have ended",
}
"""Copies that go because what they were made from is gone."""

NO_PERSON = {
    "deploy/stale.py": "a stale pid file",
    "deploy/embedded/postgres.py": "a password file of the first start",
    "deploy/supervisor.py": "the run file",
    "deploy/vectorserver/collection.py": "the engine's own files after a rebuild",
    "deploy/vectorserver/files.py": "what an unfinished rebuild has left of the engine's files",
    "deploy/vectorserver/server.py": "a whole collection",
    "deploy/vectorserver/app.py": "the server's own interface",
    "stores/vault_file.py": "how rows are deleted",
}
"""Files of the program's own."""


def deleting() -> set[str]:
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.suffix in (".py", ".sql") and "migrations" not in path.parts:
                text = path.read_text("utf-8")
                if _SQL.search(text) or (path.suffix == ".py" and _CALL.search(text)):
                    found.add(path.relative_to(ROOT).as_posix())
    return found


def test_every_place_that_deletes_is_known() -> None:
    known = ERASERS | BELOW.keys() | FOLLOWING.keys() | NO_PERSON.keys()
    unknown = deleting() - known
    assert not unknown, f"what do these delete, and by which erasers? {sorted(unknown)}"


def test_nothing_is_listed_that_is_no_more() -> None:
    gone = (ERASERS | BELOW.keys() | FOLLOWING.keys()) - deleting()
    assert not gone, sorted(gone)


@pytest.mark.parametrize("package", ["recall", "deploy"])
def test_no_way_in_deletes_by_itself(package: str) -> None:
    """The API, the page and the commands only publish a request, or run the purger's own erasers."""
    text = "\n".join(path.read_text("utf-8") for path in (ROOT / package).rglob("*.py"))
    for name in re.findall(r"\b(?:TablesEraser|PointsEraser|CacheEraser|KeysEraser|destroy_keys|delete_scope)\b", text):
        raise AssertionError(f"{package} reaches for {name} past the purger")


class Recorded:
    """An eraser that writes down what it is told."""

    def __init__(self, name: str, log: list[tuple[str, bytes | None]]) -> None:
        self.name, self._log = name, log

    def plan(self, scope: Scope) -> Plan:
        return Plan(scope, {})

    def erase(self, plan: Plan) -> None:
        self._log.append((self.name, plan.scope.handle))


class Parts:
    """As much of the purger's parts as a repair uses."""

    def __init__(self, log: list[tuple[str, bytes | None]]) -> None:
        self._log = log

    def erasers(self) -> list[Recorded]:
        return [Recorded(name, self._log) for name in ("logs", "postgres", "vectors", "redis", "vault")]


def test_a_repair_runs_every_eraser_for_every_stray_handle() -> None:
    """`audit --repair`, and the sweep of the purger itself."""
    log: list[tuple[str, bytes | None]] = []
    found = [Stray("postgres.turns", b"a", 1), Stray("redis.cache", b"a", 2), Stray("vault.keys", b"b", 1)]
    sweep.erase(Parts(log), found)  # type: ignore[arg-type]
    names = ["logs", "postgres", "vectors", "redis", "vault"]
    assert log == [(name, handle) for handle in (b"a", b"b") for name in names]


def test_expiry_deletes_nothing_by_itself() -> None:
    """Its rows go by the cut of the narrow selectors, everything else by their erasers."""
    assert not [path for path in deleting() if path.startswith("consumers/purger/expiry/")]
    assert "consumers/resolver/expiry.py" not in deleting()
