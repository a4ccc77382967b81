"""Reads, under the lock, what the stores say of a batch: one query a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from consumers.extractor.ids import conversation_id, order_id, refusal_id, turn_id
from consumers.extractor.model import Heard, Item, Known, Order, Ready, Remembered, State
from policy.consent import CONSENT_ACTIONS
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
    standing = live(ready.items, subjects)
    keys = vault.data_keys({row.handle for row in subjects.values() if row.handle is not None})
    names = names_of(standing, subjects, keys)
    heard = [item for item in standing if isinstance(item, Heard)]
    orders = [item for item in standing if isinstance(item, Order)]
    turns = {names[item.position] for item in heard}
    edits = {
        refusal_id(keys[subjects[item.subject].handle or b""], item.message_id, item.revision)
        for item in heard
        if item.revision
    }
    remembered = _remembered(tx, orders, subjects, keys)
    again = {turn.id for turns in remembered.values() for turn in turns}
    return State(
        subjects=subjects,
        keys=keys,
        names=names,
        conversations=_conversations(tx, ready),
        known=_known(tx, turns),
        refused=_ids(tx, _SQL.known_refusals, turns | edits),
        orders=_ids(tx, _SQL.known_controls, {names[item.position] for item in orders}),
        # Of a stored turn its id is the tombstone: what came of it was erased, so nothing is proposed of it again.
        tombstones=vault.has_tombstones([*(item.tombstone for item in heard), *again])
        | _ids(tx, _SQL.known_refusals, again),
        remembered=remembered,
        proposed=_proposed(tx, remembered),
    )


def names_of(
    items: Iterable[Item], subjects: Mapping[bytes, SubjectRow], keys: Mapping[bytes, SubjectKeys]
) -> dict[Position, bytes]:
    """Return the row id of each item: that of the message, whatever its revision, or of the control."""
    names = {}
    for item in items:
        own = keys[subjects[item.subject].handle or b""]
        if isinstance(item, Heard):
            names[item.position] = turn_id(own, item.message_id)
        else:
            names[item.position] = order_id(own, item.request_id)
    return names


def live(items: Iterable[Item], subjects: Mapping[bytes, SubjectRow]) -> list[Item]:
    """Return the items that are not fenced.

    Raises:
        SubjectMoved: one of their people has no handle; it lost it since preparation.
    """
    standing: list[Item] = []
    for item in items:
        subject = subjects.get(item.subject)
        author = subjects.get(item.author) if isinstance(item, Heard) else subject
        if _fenced(subject, item) or (author is not subject and _fenced(author, item)):
            continue
        if subject is None or author is None or subject.handle is None or author.handle is None:
            raise SubjectMoved
        standing.append(item)
    return standing


def _fenced(row: SubjectRow | None, item: Item) -> bool:
    return row is not None and row.fenced(item.position, item.at)


def _lock(tx: Connection, ready: Ready, refs: Iterable[bytes]) -> None:
    changing = {item.subject for item in ready.items if isinstance(item, Order) and item.action in CONSENT_ACTIONS}
    lock_refs(tx, [lock_of(ref) for ref in refs], [lock_of(ref) for ref in changing])


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
    tx: Connection, orders: Iterable[Order], subjects: Mapping[bytes, SubjectRow], keys: Mapping[bytes, SubjectKeys]
) -> dict[tuple[bytes, bytes], list[Remembered]]:
    places = set()
    for order in orders:
        if order.action is Action.PRE_COMPRESS:
            handle = subjects[order.subject].handle or b""
            places.add((handle, conversation_id(keys[handle], order.conversation or "")))
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
