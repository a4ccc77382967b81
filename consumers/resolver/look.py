"""Reads, under the lock, what the stores say of a batch of decisions: one query a table, bodies opened."""

from __future__ import annotations

from datetime import datetime

from consumers.resolver.model import Ready, State
from consumers.resolver.reader import Reader
from consumers.settling.read import clock, endings_of, memories_of
from policy.document import Policy
from stores.database import Connection
from stores.sql import load
from stores.subjects import load_by_handle, load_by_ref, lock_handles
from stores.vault import Vault

_SQL = load("consumers.resolver", "queries.sql")


def look(tx: Connection, vault: Vault, policy: Policy, ready: Ready) -> State:
    """Lock the people of a batch and read what is known of it.

    Raises:
        KeyMissing: the vault has no key for a live handle.
        TransientError: a body does not open as what it should be.
    """
    ids = [item.id for item in ready.items]
    if not ids:
        return State({}, frozenset(), {}, frozenset(), (), {}, datetime.min)
    # Who spoke never changes in a candidate, so it may be read before the lock that it is needed for.
    authors = {row[0] for row in tx.execute(_SQL.authors, (ids,)).fetchall()}
    lock_handles(tx, {item.handle for item in ready.items}, authors)
    subjects = load_by_handle(tx, {item.handle for item in ready.items})
    keys = vault.data_keys(subjects)
    reader = Reader(policy, subjects, load_by_ref(tx, authors) if authors else {}, keys)
    reader.read(tx, ready)
    slots = sorted(reader.slots(tx))
    memories = memories_of(tx, slots, subjects)
    return State(
        decided=reader.decided,
        erased=frozenset(reader.erased),
        refused=reader.refused,
        applied=frozenset(reader.applied),
        memories=memories,
        endings=endings_of(tx, slots),
        now=clock(tx),
        reverts=reader.reverts(tx),
    )
