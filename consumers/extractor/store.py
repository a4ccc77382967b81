"""Writes what was decided: one statement a table, bodies sealed on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from consumers.drafts import dump_draft
from consumers.extractor.ids import EXTRACTOR
from consumers.extractor.model import CandidateRow, OrderRow, Result, TurnRow
from stores.database import Connection, columns
from stores.sql import load

_SQL = load("consumers.extractor", "queries.sql")
_TURN_TYPES = "bytea bytea bytea int4 bytea int4 bytea int4 text bytea timestamptz bytea int2 int4 int8".split()


def write(tx: Connection, result: Result, candidate_days: int) -> None:
    """Write a batch in the caller's transaction, whose locks make it safe.

    Args:
        tx: the open transaction.
        result: what was decided.
        candidate_days: how long a candidate may wait for its decision (W2).

    Raises:
        psycopg.errors.UniqueViolation: another worker stored one of the rows since it was looked for.
    """
    _consents(tx, result)
    _turns(tx, result.turns.values())
    _revised(tx, result.revised.values())
    _insert(tx, _SQL.insert_refusals, [(row.id, row.handle, *row.position) for row in result.refusals])
    _insert(tx, _SQL.insert_controls, list(map(_order, result.orders)))
    candidates = list(result.candidates.values())
    _insert(tx, _SQL.insert_candidates, list(map(_candidate, candidates)), candidate_days)
    _insert(tx, _SQL.insert_lineage, list(map(_lineage, candidates)))
    _insert(tx, _SQL.insert_kinds, [(handle, kind, *position) for handle, kind, position in result.kinds])


def _turns(tx: Connection, rows: Iterable[TurnRow]) -> None:
    packed = list(map(_turn, rows))
    if not packed:
        return
    with tx.cursor() as cursor, cursor.copy(_SQL.copy_turns) as copy:
        copy.set_types(_TURN_TYPES)
        for row in packed:
            copy.write_row(row)


def _turn(row: TurnRow) -> tuple[Any, ...]:
    heard, subject, author = row.heard, row.subject, row.author
    return (
        row.id,
        subject.ref,
        subject.handle,
        subject.epoch,
        author.ref,
        author.epoch,
        row.conversation,
        heard.revision,
        heard.role,
        row.digest,
        heard.at,
        row.keys.seal(row.id, heard.body),
        *heard.position,
    )


def _revised(tx: Connection, rows: Iterable[TurnRow]) -> None:
    packed = list(map(_turn, rows))
    if packed:
        # Before the new text's candidates are there to be taken for those of the older one.
        tx.execute(_SQL.withdraw_candidates, ([row[0] for row in packed], [row[2] for row in packed]))
    _insert(tx, _SQL.revise_turns, [(row[0], *row[4:]) for row in packed])


def _consents(tx: Connection, result: Result) -> None:
    _insert(tx, _SQL.set_consents, [(ref, str(consent)) for ref, consent in result.consents.items()])
    places = [(*place, str(consent)) for place, consent in result.conversations.items()]
    _insert(tx, _SQL.set_conversation_consents, places)
    # What a cache holds of these subjects is no longer what recall may say.
    others = {subject for subject, _ in result.conversations} - result.consents.keys()
    if others:
        tx.execute(_SQL.raise_generations, (list(others),))


def _order(row: OrderRow) -> tuple[Any, ...]:
    order, subject = row.order, row.subject
    return (
        row.id,
        subject.ref,
        subject.handle,
        subject.epoch,
        str(order.action),
        str(order.actor),
        row.keys.seal(row.id, order.body),
        row.outcome,
        *order.position,
    )


def _candidate(row: CandidateRow) -> tuple[Any, ...]:
    subject, author, draft = row.subject, row.author, row.draft
    return (
        row.id,
        subject.ref,
        subject.handle,
        subject.epoch,
        author.ref,
        author.epoch,
        row.turn,
        row.control,
        row.consent,
        str(draft.type),
        str(draft.source_type),
        EXTRACTOR,
        row.keys.seal(row.id, dump_draft(draft)),
        *row.position,
    )


def _lineage(row: CandidateRow) -> tuple[Any, ...]:
    kind = "turn" if row.turn is not None else "control"
    return row.id, kind, row.turn or row.control, row.subject.handle


def _insert(tx: Connection, statement: str, rows: list[tuple[Any, ...]], *first: Any) -> None:
    if rows:
        tx.execute(statement, (*first, *columns(rows, len(rows[0]))))
