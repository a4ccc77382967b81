"""Tells outside owners what descends from what is erased, and believes their signed answers alone."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from consumers import outbox
from consumers.purger import book
from consumers.purger.owners.look import SQL
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.errors import TransientError
from schemas.events import ArtefactPage, Erasure
from schemas.topics import ERASURES
from schemas.words import LineStatus, Property, SelectorKind
from stores.artefacts import digest_of, opened, page_of
from stores.database import Connection, translate
from stores.vault import Vault
from streams.codec import message

Link = Callable[[], Connection]
Edge = tuple[bytes, bytes]
"""Artefact and parent."""
State = tuple[str, str, bool, int]
"""State, action, whether the deadline has passed, and how many artefacts, of an order."""

ARTEFACTS, EDGES = "owners.artefacts", "postgres.derivations"
_WHOLE = (SelectorKind.SUBJECT, SelectorKind.TENANT)
_SALT_BYTES, _CHALLENGE_BYTES = 16, 32


class OwnersEraser:
    """Orders at most once for each edge: the order and the end of its edges are one transaction."""

    name = "owners"
    version = "1"

    def __init__(self, vault: Vault, erasing: Link, observing: Link) -> None:
        """Take the vault that opens artefacts' names, a connection to order by, another to look by."""
        self._vault = vault
        self._erasing = erasing
        self._observing = observing

    def properties(self) -> Properties:
        """Edges are gone for every reader; of the artefacts themselves nothing is proven but their owner's word."""
        can = frozenset({Property.FENCED, Property.ABSENT})
        return Properties(can, can)

    def plan(self, scope: Scope) -> Plan:
        """Count artefacts that descend from the scope, those ordered already among them."""
        edges, states = _looked(self._observing, scope)
        ordered = sum(count for *_, count in states)
        return Plan(scope, {ARTEFACTS: ordered + len({edge[0] for edge in edges}), EDGES: len(edges)})

    def erase(self, plan: Plan) -> None:
        """Cut the edges; order each artefact's end, or that it be made again from the parents that remain."""
        scope = plan.scope
        with translate():
            conn = self._erasing()
            if not scope.erasure:
                # A sweep knows no erasure: those concerned take it up under their own ids.
                conn.execute(SQL.wake)
                return
            # What is registered between the count and here is seen by the observation, and taken up again.
            if plan.counts[EDGES]:
                with book.durable(conn):
                    self._order(conn, scope)

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Look for edges in another session, and at what owners have answered."""
        edges, states = _looked(self._observing, scope)
        left = len({edge[0] for edge in edges})
        absent = frozenset() if edges else frozenset({Property.ABSENT})
        return [
            _said(states, left),
            Observation(EDGES, len(edges), absent, "edges cut with the order to their owner; looked for again"),
        ]

    def _order(self, conn: Connection, scope: Scope) -> None:
        found, _ = _edges_and_states(conn, scope)
        ids = sorted({edge[0] for edge in found})
        artefacts = {row[0]: row[1:] for row in conn.execute(SQL.lock_artefacts, (ids,)).fetchall()}
        # Read again: another erasure may have ordered for some of them while the lock was waited for.
        found, _ = _edges_and_states(conn, scope)
        edges = [edge for edge in found if edge[0] in artefacts]
        conn.execute(SQL.delete_edges, ([edge[0] for edge in edges], [edge[1] for edge in edges]))
        touched = sorted({edge[0] for edge in edges})
        kept = {row[0] for row in conn.execute(SQL.with_parents, (touched,)).fetchall()}
        row = conn.execute(SQL.terms, (scope.erasure,)).fetchone()
        if row is None:
            raise TransientError("an erasure has no row")
        hold, deadline = row
        groups: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        for artefact in touched:
            action = "quarantine" if hold else "recompute" if artefact in kept else "erase"
            groups[artefacts[artefact][0], action].append(artefact)
        for (owner, action), members in sorted(groups.items()):
            bodies = {artefact: artefacts[artefact][1] for artefact in members}
            self._one(conn, scope, owner, action, bodies, deadline)

    def _one(
        self,
        conn: Connection,
        scope: Scope,
        owner: str,
        action: str,
        bodies: Mapping[bytes, bytes],
        deadline: datetime,
    ) -> None:
        lookup = self._vault.lookup_of(scope.tenant)
        if lookup is None:
            raise TransientError("the vault has no lookup key of a tenant with artefacts")
        names = sorted(opened(lookup, artefact, body)["artefact"] for artefact, body in bodies.items())
        salt, challenge = secrets.token_bytes(_SALT_BYTES), secrets.token_urlsafe(_CHALLENGE_BYTES)
        digest = digest_of(salt, names)
        values = (scope.erasure, owner, action, challenge, salt, len(names), digest, deadline)
        found = conn.execute(SQL.insert_order, values).fetchone()
        number = int(found[0]) if found else 0
        conn.execute(SQL.insert_members, (number, list(bodies)))
        event = Erasure(
            erasure_id=scope.erasure.hex(),
            challenge=challenge,
            owner=owner,
            action=action,
            artefacts=ArtefactPage(count=len(names), digest=digest, page=page_of(scope.erasure, owner, number)),
            deadline=deadline,
        )
        name = hashlib.sha256(challenge.encode()).hexdigest()[:32]
        outbox.put(conn, book.CONSUMER, [message(ERASURES, owner, event, name)])


def _looked(link: Link, scope: Scope) -> tuple[list[Edge], list[State]]:
    with translate():
        return _edges_and_states(link(), scope)


def _edges_and_states(conn: Connection, scope: Scope) -> tuple[list[Edge], list[State]]:
    """Read both at once; of a row one half is null."""
    values = {
        "whole": scope.kind in _WHOLE,
        "handle": scope.handle,
        "erasure": scope.erasure,
        "everybody": scope.kind is SelectorKind.TENANT,
        "tenant": scope.tenant,
        "blocked": scope.blocked,
    }
    rows = conn.execute(SQL.edges_and_states, values).fetchall()
    return [row[:2] for row in rows if row[0] is not None], [row[2:] for row in rows if row[2] is not None]


def _said(orders: Iterable[State], left: int) -> Observation:
    """One line for all owners: the worst that is so."""
    waiting: Counter[str] = Counter()
    actions = set()
    for state, action, late, count in orders:
        actions.add(action)
        if state == "refused":
            waiting["owner_refused"] += count
        elif state != "done":
            reason = "owner_in_progress" if state == "in_progress" else "owner_silent"
            waiting["owner_late" if late else reason] += count
    method = "ordered from its owner; only the owner's signed answer ends it"
    remaining = left + waiting.total()
    if left:
        return Observation(ARTEFACTS, remaining, frozenset(), method)
    for reason in ("owner_refused", "owner_late"):
        if waiting[reason]:
            return Observation(ARTEFACTS, remaining, frozenset(), method, LineStatus.OPEN, reason=reason)
    for reason in ("owner_silent", "owner_in_progress"):
        if waiting[reason]:
            return Observation(ARTEFACTS, remaining, frozenset(), method, LineStatus.EXTERNAL, reason=reason)
    if "quarantine" in actions:
        method = "in quarantine by its owner's signed answer"
        return Observation(ARTEFACTS, 0, frozenset(), method, LineStatus.WITHHELD, reason="legal_hold")
    if actions:
        method = "acknowledged by its owners: challenge, count and signature checked"
        return Observation(ARTEFACTS, 0, frozenset(), method, LineStatus.ERASED)
    nothing = "no owner has registered anything made from it"
    return Observation(ARTEFACTS, 0, frozenset(), nothing, LineStatus.NOTHING_FOUND)
