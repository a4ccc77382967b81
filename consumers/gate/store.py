"""Writes what was decided: one statement a table."""

from __future__ import annotations

from consumers.gate.model import Result
from policy.document import Policy
from stores.database import Connection, columns
from stores.sql import load

_SQL = load("consumers.gate", "queries.sql")


def write(tx: Connection, policy: Policy, result: Result) -> None:
    """Write the decisions of a batch in the caller's transaction, whose locks make it safe.

    Raises:
        psycopg.errors.UniqueViolation: another worker decided one of them since it was looked for.
    """
    decisions = [
        (
            decision.candidate.id,
            decision.candidate.handle,
            decision.candidate.epoch,
            str(decision.verdict.outcome),
            decision.verdict.rule,
            " ".join(decision.verdict.reasons),
            decision.candidate.extractor,
            *decision.position,
        )
        for decision in result.decisions
    ]
    if decisions:
        tx.execute(_SQL.insert_decisions, (policy.version, policy.sha256, *columns(decisions, 10)))
        tx.execute(_SQL.insert_lineage, columns([row[:2] for row in decisions], 2))
    if result.kinds:
        tx.execute(_SQL.insert_kinds, columns([(handle, kind, *place) for handle, kind, place in result.kinds], 5))
