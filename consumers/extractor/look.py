"""Reads, under the lock, what the stores say of a batch: one query a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from consumers.consent import CONSENT_ACTIONS
from consumers.extractor.ids import conversation_id, order_id, refusal_id, turn_id
from consumers.extractor.model import Heard, Known, Order, Ready, Remembered, State
from schemas.errors import SubjectMoved
from schemas.words import Action, Consent
from stores.database import Connection
from stores.sealing import SubjectKeys, lock_of
from stores.sql import load
from stores.subjects import SubjectRow, load_by_ref, lock_refs
from stores.vault import Vault
from streams.codec import Position

_SQL = load("consumers.extractor", "queries.sql")


def look(tx: Connection, vault: Vault, ready: Ready) -> State:
    """Lock the people of a batch and read what is known of it.

    Raises:
        SubjectMoved: somebody lost the handle that was there before the lock.
        KeyMissing: the vault has no key for a live handle.
    """
    refs = ready.refs
    _lock(tx, ready, refs)
    subjects = load_by_ref(tx, refs)
    live = _live(ready, subjects)
    keys = vault.data_keys({row.handle for row in subjects.values() if row.handle is not None})
    heard = [item for item in live if isinstance(item, Heard)]
    orders = [item for item in live if isinstance(item, Order)]
    named = {id(item): keys[subjects[item.subject].handle or b""] for item in live}
    turns = {turn_id(named[id(item)], item.message_id) for item in heard}
    refusals = {refusal_id(named[id(item)], item.message_id, item.revision) for item in heard}
    remembered = _remembered(tx, orders, named)
    return State(
        subjects=subjects,
        keys=keys,
        conversations=_conversations(tx, ready),
        known=_known(tx, turns),
        refused=_ids(tx, _SQL.known_refusals, refusals),
        orders=_ids(tx, _SQL.known_controls, [order_id(named[id(item)], item.request_id) for item in orders]),
        tombstones=vault.has_tombstones(item.tombstone for item in heard),
        remembered=remembered,
        proposed=_proposed(tx, remembered),
    )


def _lock(tx: Connection, ready: Ready, refs: Iterable[bytes]) -> None:
    changing = {item.subject for item in ready.items if isinstance(item, Order) and item.action in CONSENT_ACTIONS}
    lock_refs(tx, [lock_of(ref) for ref in refs], [lock_of(ref) for ref in changing])


def _live(ready: Ready, subjects: Mapping[bytes, SubjectRow]) -> list[Heard | Order]:
    """Return the items that are not fenced; each of their people must have a handle."""
    live = []
    for item in ready.items:
        people = (item.subject, item.author) if isinstance(item, Heard) else (item.subject,)
        rows = [subjects.get(ref) for ref in people]
        if any(row is not None and row.fenced(item.position, item.at) for row in rows):
            continue
        if any(row is None or row.handle is None for row in rows):
            raise SubjectMoved
        live.append(item)
    return live


def _conversations(tx: Connection, ready: Ready) -> dict[tuple[bytes, bytes], Consent]:
    places = {(item.subject, item.consent) for item in ready.items if item.consent is not None}
    if not places:
        return {}
    subjects, conversations = ({place[index] for place in places} for index in (0, 1))
    rows = tx.execute(_SQL.conversations_not_on, (list(subjects), list(conversations))).fetchall()
    return {(subject, conversation): Consent(consent) for subject, conversation, consent in rows}


def _known(tx: Connection, ids: Iterable[bytes]) -> dict[bytes, Known]:
    wanted = list(ids)
    if not wanted:
        return {}
    rows = tx.execute(_SQL.known_turns, (wanted,)).fetchall()
    return {row[0]: Known(row[1], row[2], Position(*row[3:])) for row in rows}


def _ids(tx: Connection, statement: str, ids: Iterable[bytes]) -> set[bytes]:
    wanted = list(ids)
    return {row[0] for row in tx.execute(statement, (wanted,)).fetchall()} if wanted else set()


def _remembered(
    tx: Connection, orders: Iterable[Order], named: Mapping[int, SubjectKeys]
) -> dict[tuple[bytes, bytes], list[Remembered]]:
    places = set()
    for order in orders:
        if order.action is Action.PRE_COMPRESS:
            keys = named[id(order)]
            places.add((keys.handle, conversation_id(keys, order.conversation or "")))
    if not places:
        return {}
    found: dict[tuple[bytes, bytes], list[Remembered]] = defaultdict(list)
    handles, conversations = ([place[index] for place in places] for index in (0, 1))
    for handle, conversation, *turn in tx.execute(_SQL.conversation_turns, (handles, conversations)).fetchall():
        found[handle, conversation].append(Remembered(*turn))
    return found


def _proposed(tx: Connection, remembered: Mapping[tuple[bytes, bytes], list[Remembered]]) -> set[bytes]:
    turns = [turn.id for turns in remembered.values() for turn in turns]
    if not turns:
        return set()
    handles = [handle for handle, _ in remembered]
    return {row[0] for row in tx.execute(_SQL.proposed, (turns, handles)).fetchall()}
