"""A whole tenant: every subject blocked, page by page, and every eraser run over all of their handles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from psycopg.types.json import Jsonb

from consumers import outbox
from consumers.purger import book
from consumers.purger.block import Ends, blocked_handle, later
from consumers.purger.faults import passing
from schemas.eraser import Eraser, Observation, Plan, Properties, Scope
from stores.database import Connection
from stores.subjects import lock_refs
from stores.vault import Vault
from stores.vault_ledger import Fence

_PAGE = 100
_BY_HANDLE = frozenset({"postgres", "subjects", "vectors", "redis", "vault"})
"""Erasers that know one handle; the others answer the same for everybody."""


@dataclass(frozen=True, slots=True)
class Life:
    """One epoch of one subject."""

    ref: bytes
    handle: bytes
    epoch: int


def lives(conn: Connection, vault: Vault, scope: Scope) -> list[Life]:
    """Every handle that the tenant's people have, or had as far as the vault knows of a block."""
    rows = conn.execute(book.SQL.people_of, (scope.tenant,)).fetchall()
    found = {(ref, handle): epoch for ref, handle, epoch in rows if handle is not None}
    for fence in vault.fences(row[0] for row in rows):
        if fence.handle is not None:
            found[fence.subject, fence.handle] = fence.epoch
    return [Life(ref, handle, epoch) for (ref, handle), epoch in sorted(found.items())]


def block_all(conn: Connection, vault: Vault, held: book.Held, ends: Ends) -> None:
    """End the epoch of every subject of the tenant; whoever comes later begins a new life.

    The tenant's own fence comes first: whoever is first heard of from then on, in a record before it, is seen
    together with it, and whoever was heard of before is met by the pages.
    """
    _fence(conn, held, ends)
    passing("tenant_fenced")
    last = b""
    while True:
        with book.durable(conn):
            page = conn.execute(book.SQL.page_of_people, (held.tenant, last, _PAGE)).fetchall()
            if not page:
                break
            lock_refs(conn, exclusive=[row[1] for row in page])
            _block_page(conn, vault, held, [row[0] for row in page], ends())
        last = page[-1][0]
        passing("tenant_page")
    book.set_blocked(conn, held, (None, 0), ends())
    passing("blocked")


def _fence(conn: Connection, held: book.Held, ends: Ends) -> None:
    with book.durable(conn):
        row = conn.execute(book.SQL.lock_tenant, (held.tenant,)).fetchone()
        reached = later(row[0] if row else {}, ends())
        conn.execute(book.SQL.fence_tenant, {"ref": held.tenant, "fence": Jsonb(reached), "at": held.requested_at})


def _block_page(
    conn: Connection, vault: Vault, held: book.Held, refs: Sequence[bytes], reached: dict[str, int]
) -> None:
    fences = []
    for ref in refs:
        row = conn.execute(book.SQL.subject_to_block, (ref,)).fetchone()
        handle, epoch, fence = row or (None, 1, {})
        fences.append(Fence(ref, epoch, handle, later(fence, reached)))
    vault.record_fences(fences)
    for fence in fences:
        values = {"ref": fence.subject, "fence": Jsonb(fence.fence), "at": held.requested_at}
        conn.execute(book.SQL.block_subject, values)
    outbox.put(conn, book.CONSUMER, [blocked_handle(one.handle, one.epoch) for one in fences if one.handle is not None])


class Many:
    """An eraser run over every life of a tenant, its answers added up."""

    def __init__(self, inner: Eraser, conn: Connection, vault: Vault) -> None:
        """Wrap an eraser."""
        self.name = inner.name
        self.version = inner.version
        self._inner = inner
        self._conn = conn
        self._vault = vault

    def properties(self) -> Properties:
        """Those of the eraser itself."""
        return self._inner.properties()

    def plan(self, scope: Scope) -> Plan:
        """Add up the counts of all lives."""
        total: Counter[str] = Counter(dict.fromkeys(self._inner.plan(scope).counts, 0))
        for one in self._scopes(scope):
            total.update(self._inner.plan(one).counts)
        return Plan(scope, dict(total))

    def erase(self, plan: Plan) -> None:
        """Erase one life after the other."""
        for one in self._scopes(plan.scope):
            self._inner.erase(self._inner.plan(one))

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Observe each; a property is proven where it is for every life."""
        seen = {found.entry: found for found in self._inner.observe(scope)}
        started: set[str] = set()
        for one in self._scopes(scope):
            for found in self._inner.observe(one):
                known = seen[found.entry]
                # `compacted` and the like are claimed only where every life shows them.
                proven = known.proven & found.proven
                if not known.remaining and found.entry not in started:
                    proven = found.proven
                started.add(found.entry)
                remaining = known.remaining + found.remaining
                seen[found.entry] = replace(found, remaining=remaining, proven=proven)
        return list(seen.values())

    def _scopes(self, scope: Scope) -> Iterator[Scope]:
        for life in lives(self._conn, self._vault, scope):
            yield replace(scope, subject=life.ref, handle=life.handle, epoch=life.epoch)


def many(erasers: Sequence[Eraser], conn: Connection, vault: Vault) -> list[Eraser]:
    """Wrap those erasers that know one handle at a time."""
    return [Many(one, conn, vault) if one.name in _BY_HANDLE else one for one in erasers]
