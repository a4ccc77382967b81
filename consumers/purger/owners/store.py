"""Writes registrations with their edges, and answers; wakes the erasures that wait for either."""

from __future__ import annotations

from consumers.purger.owners.decide import Verdict
from consumers.purger.owners.look import SQL
from policy.acknowledgement import evidence_digest, signature_of
from stores.database import Connection, columns


def write(tx: Connection, verdict: Verdict) -> None:
    """Write a batch in the caller's transaction, which holds the subjects' locks."""
    if verdict.artefacts:
        _register(tx, verdict)
    if verdict.answers:
        _answer(tx, verdict)


def _register(tx: Connection, verdict: Verdict) -> None:
    departed = {
        parent.id: (parent.id, parent.departs, parent.handle, parent.erasure)
        for parent in verdict.edges.values()
        if parent.departs is not None
    }
    if departed:
        tx.execute(SQL.insert_departed, columns(list(departed.values()), 4))
    # In order of id, as an eraser locks them.
    found = sorted(verdict.artefacts.values(), key=lambda one: one.id)
    made = [(one.id, one.tenant, one.owner, one.body, *one.position) for one in found]
    tx.execute(SQL.upsert_artefacts, columns(made, 7))
    edges = [(artefact, parent.kind, parent.id, parent.handle) for (artefact, _), parent in verdict.edges.items()]
    tx.execute(SQL.insert_edges, columns(edges, 4))
    erased = sorted({parent.id for parent in verdict.edges.values() if parent.erased})
    if erased:
        tx.execute(SQL.ask, (erased,))
        tx.execute(SQL.wake)


def _answer(tx: Connection, verdict: Verdict) -> None:
    rows = [(order.no, ack.state, evidence_digest(ack), signature_of(ack)) for order, ack in verdict.answers]
    tx.execute(SQL.answer, columns(rows, 4))
    done = [order.no for order, ack in verdict.answers if ack.state == "done"]
    closed = tx.execute(SQL.close, (done,)).fetchall()
    erased = [artefact for artefact, action in closed if action == "erase"]
    tx.execute(SQL.forget_artefacts, (erased,))
    tx.execute(SQL.wake_named, ([order.erasure for order, _ in verdict.answers],))
