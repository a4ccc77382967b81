"""Reads what the rules need: parents, alive or erased, under the locks of their subjects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from consumers.extractor.ids import turn_id
from consumers.purger.owners.decide import Answer, Order, Parent, State
from consumers.purger.owners.registration import Message, Registration
from schemas.settings import Settings
from stores.database import Connection, columns
from stores.owner_keys import owner_keys
from stores.sealing import SubjectKeys, lock_of
from stores.sql import load
from stores.subjects import SubjectRow, load_by_ref, lock_refs
from stores.vault import Vault
from streams.codec import Position

SQL = load("consumers.purger.owners", "owners.sql")


def look(
    tx: Connection, vault: Vault, settings: Settings, registrations: Sequence[Registration], answers: Sequence[Answer]
) -> State:
    """Lock the subjects of all parents shared, so that none is blocked between being read and being written to."""
    if not registrations and not answers:
        return State()
    memories = sorted({memory for one in registrations for memory in one.memories})
    messages = {message: one for one in registrations for message in one.messages}
    locks = {row[0] for row in tx.execute(SQL.locks, {"ids": memories}).fetchall()}
    lock_refs(tx, shared=sorted(locks | {lock_of(message.subject) for message in messages}))
    ids = [one.id for one in registrations]
    return State(
        memories=_memories(tx, memories),
        messages=_messages(tx, vault, messages),
        known={row[0]: Position(*row[1:]) for row in tx.execute(SQL.known_artefacts, (ids,)).fetchall()},
        orders=_orders(tx, answers),
        keys=owner_keys(settings) if answers else {},
    )


def _memories(tx: Connection, ids: Sequence[bytes]) -> dict[bytes, Parent]:
    gone = tx.execute(SQL.departed, (list(ids),)).fetchall()
    found = {memory: Parent("memory", memory, tenant, handle, erased=True) for memory, tenant, handle in gone}
    # One that is there counts, whatever has departed under its id before.
    for memory, tenant, handle, alive in tx.execute(SQL.memories, (list(ids),)).fetchall():
        found[memory] = Parent("memory", memory, tenant, handle, erased=not alive)
    return found


def _messages(tx: Connection, vault: Vault, wanted: dict[Message, Registration]) -> dict[Message, Parent]:
    subjects = load_by_ref(tx, {message.subject for message in wanted})
    handles = [row.handle for row in subjects.values() if row.handle is not None]
    keys = vault.data_keys(handles, missing_ok=True)
    turns = {message: _turn(message, subjects, keys) for message in wanted}
    ids = [turn for turn in turns.values() if turn is not None]
    there = {row[0] for row in tx.execute(SQL.turns, {"ids": ids}).fetchall()}
    tombs = vault.has_tombstones(message.tomb for message in wanted)
    found: dict[Message, Parent] = {}
    for message, one in wanted.items():
        row, turn = subjects.get(message.subject), turns[message]
        if row is not None and turn is not None and turn in there:
            found[message] = Parent("turn", turn, row.tenant, row.handle or b"", erased=False)
        elif row is not None and (message.tomb in tombs or _before_the_fence(row, one)):
            parent = _erased(tx, message, row)
            if parent is not None:
                found[message] = parent
    return found


def _turn(message: Message, subjects: dict[bytes, SubjectRow], keys: dict[bytes, SubjectKeys]) -> bytes | None:
    row = subjects.get(message.subject)
    own = keys.get(row.handle) if row is not None and row.handle is not None else None
    return turn_id(own, message.message) if own is not None else None


def _before_the_fence(row: SubjectRow, one: Registration) -> bool:
    """True where the message can only have belonged to a life that was erased.

    In a later life a message that is not there yet may be on its way: what its owner dates after the erasure waits.
    """
    if row.fenced_at is None:
        return False
    return row.handle is None or one.at_ms <= _ms(row.fenced_at)


def _erased(tx: Connection, message: Message, row: SubjectRow) -> Parent | None:
    """Name it by its tombstone: its own id went with the key, or nobody ever stored it."""
    found = tx.execute(SQL.newest_erasure, {"subject": message.subject, "tenant": row.tenant}).fetchone()
    if found is None:
        return None
    return Parent("turn", message.tomb, row.tenant, row.handle or b"", True, found[0], message.subject)


def _orders(tx: Connection, answers: Iterable[Answer]) -> list[Order]:
    pairs = sorted({(bytes.fromhex(answer.ack.erasure_id), answer.ack.owner) for answer in answers})
    if not pairs:
        return []
    return [Order(*row) for row in tx.execute(SQL.orders, columns(pairs, 2)).fetchall()]


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
