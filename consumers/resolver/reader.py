"""Opens the decisions of a batch and finds which slots they may touch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from consumers.consent import WRITING_ACTIONS
from consumers.drafts import load_draft
from consumers.resolver.decide import LAST
from consumers.resolver.model import Decided, Origin, Ready, Revert
from consumers.resolver.slots import ended_digests, identities, identity, memory_id, narrower
from consumers.settling.memory import Slot
from policy.document import Policy
from schemas.errors import TransientError
from schemas.records import GLOBAL_SCOPE, Content, Draft
from schemas.words import Action, Consent, MemoryType, Outcome, Visibility
from stores.database import Connection, columns
from stores.memory_records import content_of
from stores.sealing import SubjectKeys
from stores.sql import load
from stores.subjects import SubjectRow
from streams.codec import Position

_SQL = load("consumers.resolver", "queries.sql")
Keys = Mapping[bytes, SubjectKeys]
Subjects = Mapping[bytes, SubjectRow]

_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


class Reader:
    """Opens the decisions of a batch and finds which slots they may touch."""

    def __init__(self, policy: Policy, subjects: Subjects, authors: Subjects, keys: Keys) -> None:
        """Take the policy, and rows and keys of the people whose lock is held."""
        self._subjects = subjects
        self._authors = authors
        self._keys = keys
        self._review = timedelta(days=policy.retention.review_days)
        self._lifetimes = {kind: policy.default_lifetime(kind) for kind in MemoryType}
        self.decided: dict[bytes, Decided] = {}
        self.erased: set[bytes] = set()
        self.applied: set[bytes] = set()
        self.refused: dict[bytes, SubjectRow] = {}

    def read(self, tx: Connection, ready: Ready) -> None:
        """Read and open the batch.

        Raises:
            TransientError: a body does not open as what it should be.
        """
        positions = {item.id: item.position for item in ready.items}
        for row in tx.execute(_SQL.decided, (list(positions),)).fetchall():
            self._row(row, positions[row[0]])

    def _row(self, row: tuple[Any, ...], position: Position) -> None:
        candidate, outcome, rule, decided_at, handle, epoch, subject_ref, author, author_epoch, body = row[:10]
        subject = self._subjects.get(handle)
        applied, refused, edited = row[22:]
        stands = self._author_stands(subject_ref, author, author_epoch) and not edited
        if subject is None or subject.epoch != epoch or not stands:
            self.erased.add(candidate)
            return
        if applied:
            self.applied.add(candidate)
            return
        keys = self._keys[handle]
        draft = _draft(keys, candidate, body)
        origin = _origin(row, keys)
        if origin is None:
            self.erased.add(candidate)
            return
        if refused or not self._permitted(draft, subject, author, Consent(row[10])):
            self.refused[candidate] = subject
        item = Decided(position, candidate, _OUTCOMES[outcome], rule, decided_at, draft, origin, subject, keys, author)
        self.decided[candidate] = self._with_slot(item, row[19])

    def _author_stands(self, subject: bytes, author: bytes, epoch: int) -> bool:
        if author == subject:
            return True
        row = self._authors.get(author)
        return row is not None and row.epoch == epoch

    def _permitted(self, draft: Draft, subject: SubjectRow, author: bytes, conversation: Consent) -> bool:
        """Ask for consent again; an order that only takes something back is always heard (P7)."""
        if draft.action is not None and draft.action not in WRITING_ACTIONS:
            return True
        speaker = self._authors.get(author, subject)
        on = Consent.ON
        return subject.consent is on and subject.tenant_consent is on and speaker.consent is on and conversation is on

    def _with_slot(self, item: Decided, control: bytes | None) -> Decided:
        draft, keys = item.draft, item.keys
        if draft.action is Action.REVERT and item.origin.control is not None and control is not None:
            return replace(item, revert=_revert(keys, item.origin.control, control, item.order[:2]))
        if draft.action is not None:
            return replace(item, target=bytes.fromhex(draft.target) if draft.target else None)
        if draft.ends:
            return replace(
                item,
                identities=() if draft.target == LAST else identities(keys, draft.content, draft.visibility),
                digests=ended_digests(keys, draft.content, draft.polarity),
            )
        return replace(
            item,
            identities=(identity(keys, draft.content, draft.type, draft.visibility),),
            review_at=item.decided_at + self._review,
            expires_at=draft.expires_at or draft.valid_to or self._lifetime(item),
        )

    def _lifetime(self, item: Decided) -> datetime | None:
        """End a claim that states no end by its type, counted from when it was said (C12).

        A plan of three years ago is no plan of today; a time ahead of ours lengthens nothing.
        """
        lifetime = self._lifetimes[item.draft.type]
        return None if lifetime is None else min(item.origin.at, item.decided_at) + lifetime

    def reverts(self, tx: Connection) -> dict[bytes, list[Revert]]:
        """Return what the people of the batch have taken back before."""
        found: defaultdict[bytes, list[Revert]] = defaultdict(list)
        for handle, control, body, offset, after in tx.execute(_SQL.reverts, (list(self._keys),)).fetchall():
            found[handle].append(_revert(self._keys[handle], control, body, (after, offset + 1)))
        return found

    def slots(self, tx: Connection) -> set[Slot]:
        """Return every slot that the batch may touch, and open what its orders are about."""
        found = {(item.keys.handle, slot) for item in self.decided.values() for slot in item.identities}
        orders = [item for item in self.decided.values() if item.draft.action is not None]
        if orders:
            found |= self._targets(tx, [item for item in orders if item.target is not None])
            found |= _reverted(tx, [item for item in orders if item.revert is not None])
        last = [item for item in self.decided.values() if item.draft.target == LAST]
        return found | _recent(tx, last) if last else found

    def _targets(self, tx: Connection, orders: Sequence[Decided]) -> set[Slot]:
        found: set[Slot] = set()
        if not orders:
            return found
        about: dict[bytes, tuple[bytes, Content, MemoryType, Visibility]] = self._begun()
        for memory, handle, slot, kind, visibility, body, previous in tx.execute(
            _SQL.targets, ([item.target for item in orders],)
        ).fetchall():
            if handle in self._keys:
                content = content_of(orjson.loads(self._keys[handle].open(memory, body)))
                about[memory] = (handle, content, MemoryType(kind), Visibility(visibility))
                found |= {(handle, slot)} | ({(handle, previous)} if previous else set())
        for item in orders:
            known = about.get(item.target or b"")
            if known is None or known[0] != item.keys.handle:
                continue
            handle, content, kind, visibility = known
            narrowed = self._narrowed(item, content, kind, visibility)
            self.decided[item.candidate] = replace(
                item, content=content, narrowed=narrowed, review_at=item.decided_at + self._review
            )
            if narrowed is not None:
                found.add((handle, narrowed))
        return found

    def _begun(self) -> dict[bytes, tuple[bytes, Content, MemoryType, Visibility]]:
        """Return what claims of this batch may begin: a replay can hold a memory and the order about it."""
        return {
            memory_id(item.keys, item.candidate): (
                item.keys.handle,
                item.draft.content,
                item.draft.type,
                item.draft.visibility,
            )
            for item in self.decided.values()
            if item.draft.action is None
        }

    @staticmethod
    def _narrowed(item: Decided, content: Content, kind: MemoryType, visibility: Visibility) -> bytes | None:
        scope = item.draft.content.scope
        if item.draft.action is not Action.NARROW or not narrower(scope, content.scope, GLOBAL_SCOPE):
            return None
        return identity(item.keys, replace(content, scope=scope), kind, visibility)


def _draft(keys: SubjectKeys, candidate: bytes, body: bytes) -> Draft:
    try:
        return load_draft(keys.open(candidate, body))
    except ValueError:
        # pydantic's message would quote the draft.
        raise TransientError("a candidate was written by another version") from None


def _origin(row: tuple[Any, ...], keys: SubjectKeys) -> Origin | None:
    """Return where a candidate comes from, None where that is gone."""
    turn, number, at, conversation, body, control, actor, _, order, offset, after = row[11:22]
    if turn is not None:
        if body is None:
            return None
        opened = orjson.loads(keys.open(turn, body))
        names = {name: opened[name] for name in ("conversation", "message_id")}
        return Origin(number, 0, at, turn=turn, conversation=conversation, names=names)
    if actor is None:
        return None
    ordered_at = datetime.fromisoformat(orjson.loads(keys.open(control, order))["at"])
    return Origin(after, offset + 1, ordered_at, control=control, actor=actor)


def _revert(keys: SubjectKeys, control: bytes, sealed: bytes, before: tuple[int, int]) -> Revert:
    body = orjson.loads(keys.open(control, sealed))
    conversation, since, until = (body.get(name) for name in ("conversation", "since", "until"))
    return Revert(
        before,
        keys.id("conversation", conversation) if conversation else None,
        datetime.fromisoformat(since) if since else None,
        datetime.fromisoformat(until) if until else None,
    )


def _reverted(tx: Connection, orders: Sequence[Decided]) -> set[Slot]:
    if not orders:
        return set()
    wanted = [
        (item.keys.handle, item.revert.conversation, item.revert.since, item.revert.until)
        for item in orders
        if item.revert is not None
    ]
    given = columns(wanted, 4)
    return {(row[0], row[1]) for row in tx.execute(_SQL.reverted, [*given, *given]).fetchall()}


def _recent(tx: Connection, items: Sequence[Decided]) -> set[Slot]:
    wanted = [(item.keys.handle, item.origin.conversation, item.origin.row) for item in items]
    return {(row[0], row[1]) for row in tx.execute(_SQL.recent, columns(wanted, 3)).fetchall()}
