"""An edited message is no source of what its older text said (W1): that goes, and slots are settled anew.

A memory without any other source is deleted; what it had superseded comes back (C14).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from consumers.resolver import store
from consumers.resolver.model import Cause, Result, State
from consumers.resolver.run import Run
from consumers.settling.read import clock, endings_of, memories_of
from consumers.settling.settle import Rules
from schemas.words import MemoryStatus
from stores.database import Connection, value
from stores.sql import load
from stores.subjects import load_by_handle, lock_handles
from stores.vault import Vault

_SQL = load("consumers.resolver", "queries.sql")
EDITS = 500
"""How many pieces of evidence one step takes up; the next step goes on."""

Changed = tuple[bytes, int, str, bytes, int]
"""Memory, version, status, handle, epoch."""


class _Stale(NamedTuple):
    """Evidence of an older text; ``memory`` is None for an ending."""

    handle: bytes
    identity: bytes
    memory: bytes | None
    candidate: bytes
    turn: bytes


class Edits:
    """Remembers how far it has looked; after a start it looks at every edit that the event log still has."""

    def __init__(self, vault: Vault, rules: Rules) -> None:
        """Take the vault and what policy says of conflicts."""
        self._vault = vault
        self._rules = rules
        self._since = datetime(1970, 1, 1, tzinfo=UTC)

    def withdraw(self, tx: Connection) -> list[Changed]:
        """Take one step; return the new versions.

        Raises:
            KeyMissing: the vault has no key for a live handle.
            TransientError: a memory changed meanwhile; the step is taken again.
        """
        # An edit that is being committed now is seen by the next step, which looks a minute back.
        since = value(tx, _SQL.before_now)
        found = self._stale(tx)
        if not found:
            self._since = since
            return []
        lock_handles(tx, {one.handle for one in found})
        return self._settle(tx, self._stale(tx))

    def _stale(self, tx: Connection) -> list[_Stale]:
        rows = tx.execute(_SQL.edited, {"since": self._since, "limit": EDITS}).fetchall()
        return [_Stale(*row) for row in rows]

    def _settle(self, tx: Connection, found: list[_Stale]) -> list[Changed]:
        subjects = load_by_handle(tx, {one.handle for one in found})
        stale = [one for one in found if one.handle in subjects]
        keys = self._vault.data_keys(subjects)
        slots = sorted({(one.handle, one.identity) for one in stale})
        run = Run(
            State(
                decided={},
                erased=frozenset(),
                refused={},
                applied=frozenset(),
                memories=memories_of(tx, slots, subjects),
                endings=endings_of(tx, slots),
                now=clock(tx),
            ),
            self._rules,
        )
        _take_out(run, stale)
        for handle, identity in slots:
            named = {memory.id: "restored" for memory in run.of_handle(handle) if memory.evidence}
            run.settle(Cause(subjects[handle], keys[handle], "person"), identity, named)
        store.write(tx, run.result)
        return _erase(tx, run.result, stale)


def _take_out(run: Run, stale: list[_Stale]) -> None:
    gone = {(one.memory, one.candidate) for one in stale}
    for memory in list(run.memories.values()):
        lost = [item for item in memory.evidence if (memory.id, item.candidate) in gone]
        if lost:
            run.void(memory, lost)
    ended = {(one.handle, one.identity, one.candidate) for one in stale if one.memory is None}
    for handle in {one.handle for one in stale}:
        for slot, endings in run.endings(handle):
            run.unend(slot, [ending for ending in endings if (*slot, ending.order[3]) in ended])


def _erase(tx: Connection, result: Result, stale: list[_Stale]) -> list[Changed]:
    """Delete the rows of what was taken out, which hold the older text."""
    pairs = [(one.memory, one.candidate) for one in stale if one.memory is not None]
    given: list[Any] = [[memory for memory, _ in pairs], [candidate for _, candidate in pairs]]
    tx.execute(_SQL.delete_sources, given)
    tx.execute(_SQL.delete_edges, given)
    tx.execute(_SQL.delete_edited_candidates, (list({one.turn for one in stale}),))
    empty = {memory.id for memory in result.memories.values() if memory.count == 0}
    if empty:
        tx.execute(_SQL.delete_memories, (list(empty),))
    return [
        (
            row.memory,
            row.version,
            MemoryStatus.DELETED if row.memory in empty else row.status,
            row.cause.keys.handle,
            row.cause.subject.epoch,
        )
        for row in result.versions
    ]
