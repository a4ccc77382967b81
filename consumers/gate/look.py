"""Reads, under the lock, what the stores say of a batch of candidates: one query a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from consumers.drafts import load_draft
from consumers.gate.model import Candidate, Ready, State
from schemas.errors import TransientError
from schemas.records import Draft
from schemas.words import Action, Consent
from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.sql import load
from stores.subjects import SubjectRow, load_by_handle, load_by_ref, lock_handles
from stores.vault import Vault

_SQL = load("consumers.gate", "queries.sql")
Keys = Mapping[bytes, SubjectKeys]


def look(tx: Connection, vault: Vault, ready: Ready) -> State:
    """Lock the people of a batch and read what is known of it.

    Raises:
        KeyMissing: the vault has no key for a live handle.
        TransientError: a body does not open as a draft.
    """
    ids = [item.id for item in ready.items]
    if not ids:
        return State({}, {}, {})
    handles = {item.handle for item in ready.items}
    # Who spoke never changes in a candidate, so it may be read before the lock that it is needed for.
    authors = {row[0] for row in tx.execute(_SQL.authors, (ids,)).fetchall()}
    lock_handles(tx, handles, authors)
    subjects = load_by_handle(tx, handles)
    keys = vault.data_keys(subjects)
    return State(
        subjects=subjects,
        authors=load_by_ref(tx, authors) if authors else {},
        candidates=_candidates(tx, ids, subjects, keys),
        decided={row[0] for row in tx.execute(_SQL.decided, (ids,)).fetchall()},
    )


def _candidates(
    tx: Connection, ids: list[bytes], subjects: Mapping[bytes, SubjectRow], keys: Keys
) -> dict[bytes, Candidate]:
    rows = [row for row in tx.execute(_SQL.candidates, (ids,)).fetchall() if row[1] in subjects]
    drafts = {row[0]: _draft(row[0], row[-1], keys[row[1]]) for row in rows}
    drafts |= _of_target(tx, drafts, keys)
    return {row[0]: _candidate(row, drafts[row[0]]) for row in rows}


def _candidate(row: tuple[Any, ...], draft: Draft) -> Candidate:
    name, handle, epoch, subject, author, author_epoch, extractor, consent, _ = row
    return Candidate(name, handle, epoch, subject, author, author_epoch, extractor, Consent(consent), draft)


def _draft(row_id: bytes, body: bytes, keys: SubjectKeys) -> Draft:
    try:
        return load_draft(keys.open(row_id, body))
    except ValueError:
        # pydantic's message would quote the draft.
        raise TransientError("a candidate was written by another version") from None


def _of_target(tx: Connection, drafts: Mapping[bytes, Draft], keys: Keys) -> dict[bytes, Draft]:
    """Give corrections the namespace and key of what they correct, so that policy judges them as that."""
    wanted = {
        name: bytes.fromhex(draft.target)
        for name, draft in drafts.items()
        if draft.action is Action.CORRECT and draft.target
    }
    if not wanted:
        return {}
    rows = tx.execute(_SQL.targets, (list(wanted.values()),)).fetchall()
    contents = dict(_opened(rows, keys))
    return {name: _placed(drafts[name], contents[target]) for name, target in wanted.items() if target in contents}


def _opened(rows: Iterable[tuple[Any, ...]], keys: Keys) -> Iterable[tuple[bytes, dict[str, Any]]]:
    for memory, handle, body in rows:
        if handle in keys:
            yield memory, orjson.loads(keys[handle].open(memory, body))


def _placed(draft: Draft, target: Mapping[str, Any]) -> Draft:
    content = replace(draft.content, namespace=target["namespace"], key=target["key"])
    return replace(draft, content=content)
