"""Rows of subjects: their handle, epoch, fence and consent, and the locks that order writes against erasure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import orjson

from schemas.words import Consent
from stores.database import Connection, columns, translate
from stores.sealing import lock_of
from stores.sql import load
from stores.vault import Vault, new_handle

_SQL = load("stores", "subjects.sql")
_SWEEP_PAGE = 1000

Pair = tuple[str, str]
"""A tenant and a subject, by their natural ids."""
Fence = Mapping[tuple[int, int], int]
"""(log, partition) to the offset before which nothing is."""


class Placed(Protocol):
    """A position in the log: number of the log, partition, offset."""

    @property
    def log(self) -> int:
        """Number of the log in table ``logs``."""

    @property
    def part(self) -> int:
        """Partition."""

    @property
    def pos(self) -> int:
        """Offset."""


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A subject as it stood when it was read; only under its lock does that hold.

    Attributes:
        ref: keyed hash of tenant and natural id, the same in every epoch.
        tenant: ref of the tenant.
        lock: key of its advisory lock.
        handle: random id of this epoch, None between an erasure and a new life.
        epoch: rises with every erasure.
        consent: what the person allows.
        fence: what lies before it is of no life of this subject, its tenant's own fence included.
        fenced_at: broker time of the last request that ended an epoch.
        generation: rises with every change of what a recall may give.
        tenant_consent: what the tenant allows.
    """

    ref: bytes
    tenant: bytes
    lock: int
    handle: bytes | None
    epoch: int
    consent: Consent
    fence: Fence
    fenced_at: datetime | None
    generation: int
    tenant_consent: Consent = Consent.ON

    def fenced(self, position: Placed, at: datetime | None) -> bool:
        """Tell whether a record belongs to an erased epoch.

        Args:
            position: where it lies. A partition absent from the fence lies after it.
            at: its own time, where it has one; a time may refuse it, never admit it.
        """
        if position.pos < self.fence.get((position.log, position.part), -1):
            return True
        return self.fenced_at is not None and at is not None and at < self.fenced_at


def ensure_subjects(
    conn: Connection,
    vault: Vault,
    wanted: Iterable[Pair],
    alive: Callable[[Pair, SubjectRow], bool] | None = None,
) -> dict[Pair, bytes]:
    """Give every wanted subject a row with a handle, in a transaction of its own.

    The keys are durable in the vault before a row names their handle, so that no row is ever
    without its key. Of two processes that draw for one subject the first wins; the other's key is
    destroyed, at once or by `sweep_keys`.

    Args:
        conn: a connection that is in no transaction.
        vault: where keys are drawn.
        wanted: tenants and subjects (or authors).
        alive: asked of a subject that was erased whether a new life begins; by default it does.
            Callers with only fenced records must say no, or a replayed log would name the erased again.

    Returns:
        The ref of every wanted subject, whether it has a handle now or not.

    Raises:
        TransientError: a race, or a Block that took too long; nothing was stored, and the connection is
            in no transaction again.
    """
    refs = _refs(vault, wanted)
    with translate(), _undone(conn):
        known = load_by_ref(conn, refs.values())
        known |= _of_erased_tenants(conn, vault, {ref: pair for pair, ref in refs.items() if ref not in known})
        need = [pair for pair, ref in refs.items() if _needs_handle(pair, known.get(ref), alive)]
        if need:
            epochs = {ref: row.epoch for ref, row in known.items()}
            _insert(conn, vault, {refs[pair]: pair for pair in need}, epochs)
        conn.commit()
    return refs


@contextmanager
def _undone(conn: Connection) -> Iterator[None]:
    """End the transaction of what fails: the caller's next try must not meet a failed one."""
    try:
        yield
    except BaseException:
        conn.rollback()
        raise


def sweep_keys(conn: Connection, vault: Vault, keep: Iterable[bytes] = (), older_than: float = 3600) -> int:
    """Destroy keys whose handle no subject holds; return how many.

    Args:
        conn: a connection; its transaction is ended.
        vault: where the keys are.
        keep: handles that an open erasure or a legal hold still needs.
        older_than: seconds; a younger key may be about to get its row.
    """
    kept, gone = set(keep), 0
    page: list[bytes] = []
    for handle in vault.handles(older_than):
        page.append(handle)
        if len(page) == _SWEEP_PAGE:
            gone += _sweep_page(conn, vault, page, kept)
            page = []
    return gone + (_sweep_page(conn, vault, page, kept) if page else 0)


def lock_refs(tx: Connection, shared: Sequence[int] = (), exclusive: Sequence[int] = ()) -> None:
    """Take the advisory locks of subjects until the transaction ends: one statement, in key order.

    A key in both lists is locked exclusively. Rows must be read by a later statement.
    """
    if shared or exclusive:
        tx.execute(_SQL.lock_refs, {"shared": list(shared), "exclusive": list(exclusive)})


def lock_handles(tx: Connection, handles: Iterable[bytes], refs: Iterable[bytes] = ()) -> None:
    """Lock the subjects that hold the given handles, and those with the given refs (authors), shared.

    A handle that no subject holds any more locks nothing: `load_by_handle` will not find it.
    """
    locks = [lock_of(ref) for ref in refs]
    tx.execute(_SQL.lock_handles, {"handles": list(set(handles)), "locks": locks})


def load_by_ref(tx: Connection, refs: Iterable[bytes]) -> dict[bytes, SubjectRow]:
    """Read subjects by ref; unknown ones are left out."""
    rows = tx.execute(_SQL.load_by_ref, (list(set(refs)),)).fetchall()
    return {row[0]: _row(row) for row in rows}


def load_by_handle(tx: Connection, handles: Iterable[bytes]) -> dict[bytes, SubjectRow]:
    """Read subjects by the handle they hold now; erased handles are left out."""
    rows = tx.execute(_SQL.load_by_handle, (list(set(handles)),)).fetchall()
    return {row[3]: _row(row) for row in rows}


def natural_id(vault: Vault, row: SubjectRow, body: bytes) -> Pair:
    """Open the sealed natural id of a subject with a handle.

    Raises:
        KeyMissing: the vault has no key for its handle.
    """
    handle = row.handle or b""
    found = orjson.loads(vault.data_keys([handle])[handle].open(row.ref, body))
    return found["tenant"], found["subject"]


def _refs(vault: Vault, wanted: Iterable[Pair]) -> dict[Pair, bytes]:
    pairs = set(wanted)
    lookups = vault.lookups({tenant for tenant, _ in pairs}, create=True)
    return {pair: lookups[pair[0]].subject(pair[1]) for pair in pairs}


def _needs_handle(pair: Pair, row: SubjectRow | None, alive: Callable[[Pair, SubjectRow], bool] | None) -> bool:
    if row is None:
        return True
    return row.handle is None and (alive is None or alive(pair, row))


def _of_erased_tenants(conn: Connection, vault: Vault, unknown: Mapping[bytes, Pair]) -> dict[bytes, SubjectRow]:
    """Give rows without a name to people first heard of in what a whole tenant's erasure has fenced off."""
    tenants = {ref: vault.tenant_ref(pair[0]) for ref, pair in unknown.items()}
    if not tenants:
        return {}
    erased = {row[0] for row in conn.execute(_SQL.fenced_tenants, (sorted(set(tenants.values())),)).fetchall()}
    rows = [(ref, tenant, lock_of(ref)) for ref, tenant in sorted(tenants.items()) if tenant in erased]
    if not rows:
        return {}
    conn.execute(_SQL.insert_unnamed, columns(rows, 3))
    return load_by_ref(conn, [row[0] for row in rows])


def _insert(conn: Connection, vault: Vault, pairs: dict[bytes, Pair], epochs: Mapping[bytes, int]) -> None:
    handles = {ref: new_handle() for ref in sorted(pairs)}
    keys = vault.create_keys(handles.values())
    tenants = {tenant: vault.tenant_ref(tenant) for tenant, _ in pairs.values()}
    rows = []
    for ref, handle in handles.items():
        tenant, subject = pairs[ref]
        body = keys[handle].seal(ref, orjson.dumps({"tenant": tenant, "subject": subject}))
        rows.append((ref, tenants[tenant], lock_of(ref), handle, body, epochs.get(ref, 1)))
    conn.execute(_SQL.insert_tenants, (sorted(tenants.values()),))
    taken = {row[0] for row in conn.execute(_SQL.insert_subjects, columns(rows, 6)).fetchall()}
    conn.commit()
    lost = [handle for handle in handles.values() if handle not in taken]
    if lost:
        vault.destroy_keys(lost)


def _sweep_page(conn: Connection, vault: Vault, page: list[bytes], keep: set[bytes]) -> int:
    with translate(), _undone(conn):
        held = {row[0] for row in conn.execute(_SQL.held_handles, (page,)).fetchall()}
        conn.commit()
    orphans = [handle for handle in page if handle not in held and handle not in keep]
    return vault.destroy_keys(orphans) if orphans else 0


def _row(row: tuple[Any, ...]) -> SubjectRow:
    ref, tenant, lock, handle, epoch, consent, own, own_at, generation, tenant_consent, whole, whole_at = row
    return SubjectRow(
        ref,
        tenant,
        lock,
        handle,
        epoch,
        Consent(consent),
        _later(parse_fence(own or {}), parse_fence(whole or {})),
        max((at for at in (own_at, whole_at) if at is not None), default=None),
        generation,
        Consent(tenant_consent),
    )


def _later(one: Fence, other: Fence) -> Fence:
    """What both fence off, the subject's and its whole tenant's."""
    return {place: max(one.get(place, 0), other.get(place, 0)) for place in {*one, *other}} if other else one


def parse_fence(fence: Mapping[str, int]) -> dict[tuple[int, int], int]:
    """Read a fence as PostgreSQL keeps it: ``{"log/part": offset}``."""
    parsed = {}
    for place, offset in fence.items():
        log, _, part = place.partition("/")
        parsed[int(log), int(part)] = offset
    return parsed


def spell_fence(fence: Mapping[tuple[int, int], int]) -> dict[str, int]:
    """Write a fence as PostgreSQL keeps it."""
    return {f"{log}/{part}": offset for (log, part), offset in fence.items()}
