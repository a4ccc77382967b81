"""The purger: accepts deletion requests, blocks their subjects at once, leaves the rest to the saga.

It also hears outside owners: what they have made, and what they answer when it is to go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from consumers.contract import BaseConsumer, Tx
from consumers.deadletters import DeadLetter
from consumers.purger import book, intake
from consumers.purger.decide import Decided, Known, Request, deadline_of, decide, not_before
from consumers.purger.driver import Driver
from consumers.purger.owners import intake as outside
from consumers.purger.owners import store as outside_store
from consumers.purger.owners import withdrawn
from consumers.purger.owners.decide import Verdict
from consumers.purger.owners.look import look
from consumers.purger.registry import Parts
from schemas.errors import InvalidEvent
from schemas.events import Deletion
from schemas.settings import Settings
from schemas.topics import ACKS, DELETIONS, DERIVATIONS
from schemas.words import ErasureState, SelectorKind
from stores.database import columns
from streams.codec import Message, Position, Record, decode
from streams.metrics import ERASURE_OLDEST, ERASURES


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch's requests, in order, what owners said, and what is neither.

    ``kept`` ends once the vault has the requests.
    """

    requests: tuple[Request, ...]
    heard: outside.Heard
    letters: tuple[DeadLetter, ...]
    kept: Future[None]


@dataclass(frozen=True, slots=True)
class State:
    """Which requests are known, and what owners' words are about."""

    known: Mapping[bytes, Known]
    outside: outside.State


@dataclass(frozen=True, slots=True)
class Result:
    """What is to be stored of a batch."""

    decided: Decided
    verdict: Verdict
    dead_letters: Sequence[DeadLetter]
    counts: Mapping[str, int]
    kept: Future[None]


class Purger(BaseConsumer[Ready, State, Result]):
    """One consumer group over the topics of erasure."""

    name = "purger"
    topics = (DELETIONS, DERIVATIONS, ACKS)
    # A batch is blocked one subject after the other before the next is read.
    batch_size = 100
    tick_seconds = 0.25

    def __init__(self, settings: Settings) -> None:
        """Open what is needed and start the saga's thread."""
        self._parts = Parts.open(settings)
        self._driver = Driver(settings)
        self._driver.start()

    def close(self) -> None:
        """Stop the thread and close."""
        self._driver.stop()
        self._parts.close()

    def prepare(self, batch: Sequence[Record]) -> Ready:
        """Name everything by keyed hashes and begin to put the requests into the vault."""
        requests: list[tuple[Request, Deletion]] = []
        letters: list[DeadLetter] = []
        heard = outside.Heard()
        for record in batch:
            try:
                event = decode(record)
                if isinstance(event, Deletion):
                    requests.append((self._named(record, event), event))
                else:
                    heard.take(record.position, event, self._parts.vault)
            except InvalidEvent as error:
                letters.append(DeadLetter(record.position, error.reason))
        kept = self._parts.pool.submit(intake.keep, self._parts.vault, requests)
        return Ready(tuple(request for request, _ in requests), heard, tuple(letters), kept)

    def load(self, tx: Tx, ready: Ready) -> State:
        """Read which of the requests are known, and what owners speak of."""
        ids = [request.id for request in ready.requests]
        with tx.pipeline():
            tx.execute(book.SQL.not_at_once)
            rows = tx.execute(book.SQL.known, (ids,)).fetchall()
        known = {row[0]: Known(row[1], ErasureState(row[2])) for row in rows}
        heard, parts = ready.heard, self._parts
        return State(known, look(tx, parts.vault, parts.settings, heard.registrations, heard.answers))

    def decide(self, ready: Ready, state: State) -> Result:
        """Apply the rules."""
        decided = decide(ready.requests, state.known)
        verdict = outside.decide(ready.heard.registrations, ready.heard.answers, state.outside)
        refused = [DeadLetter(Position(*request.cause), reason) for request, reason in decided.refused]
        counts = {
            "accepted": len(decided.accepted),
            "cancelled": len(decided.cancelled),
            "duplicate": decided.repeated,
        } | verdict.counts
        return Result(decided, verdict, (*ready.letters, *refused, *verdict.letters), counts, ready.kept)

    def store(self, tx: Tx, result: Result) -> None:
        """Write new requests as planned, once the vault has them; a subject nobody has heard of gets a row."""
        accepted = result.decided.accepted
        with tx.pipeline():
            if accepted:
                tx.execute(book.SQL.insert_tenants, ([request.tenant for request in accepted],))
                people = [(r.subject, r.tenant, r.lock) for r in accepted if r.subject is not None]
                tx.execute(book.SQL.insert_subjects, columns(people, 3))
                rows = columns([_row(r) for r in accepted], 14)
                tx.execute(book.SQL.insert_erasures, (self._parts.session(), *rows))
            if result.decided.cancelled:
                tx.execute(book.SQL.cancel, (list(result.decided.cancelled),))
        outside_store.write(tx, result.verdict)
        result.kept.result()

    def settle(self, result: Result) -> None:
        """Block right after the batch, without waiting for stores; the thread does the rest."""
        accepted = result.decided.accepted
        blocked: list[bytes | book.Held] = []
        if accepted:
            saga = self._parts.saga()
            for request in accepted:
                whole = request.kind is SelectorKind.SUBJECT
                held = _held(request, saga.session) if whole else request.id
                blocked.append(saga.block_now(held, self._driver.session) or request.id)
        if accepted or result.verdict.urgent:
            self._driver.wake(blocked)

    def tick(self, tx: Tx) -> Sequence[Message]:
        """Take up what edits took away; show how many erasures are in which state, and the oldest one's age."""
        withdrawn.take_up(tx, self._parts.vault)
        states = dict(tx.execute(book.SQL.by_state).fetchall())
        for state in ErasureState:
            ERASURES.labels(state.value).set(states.get(state.value, 0))
        row = tx.execute(book.SQL.oldest_open).fetchone()
        ERASURE_OLDEST.set(float(row[0]) if row and row[0] is not None else 0)
        return ()

    def _named(self, record: Record, event: Deletion) -> Request:
        lookup = self._parts.vault.lookup(event.tenant, create=True)
        if lookup is None:
            raise RuntimeError("the vault drew no lookup key")
        return intake.request_of(record, event, lookup)


def _held(request: Request, owner: str) -> book.Held:
    """What the row says of a whole subject that was just written for ``owner``; `block` sees whether it still does."""
    return book.Held(
        owner=owner,
        id=request.id,
        tenant=request.tenant,
        subject=request.subject,
        lock=request.lock,
        kind=SelectorKind.SUBJECT,
        tag=request.tag,
        state=ErasureState.PLANNED,
        handle=None,
        epoch=None,
        fence=None,
        plan=None,
        plan_digest=None,
        requested_at=request.requested_at,
        deadline=deadline_of(request),
        not_before=not_before(request),
        blocked_at=None,
        attempts=0,
        expected_digest=request.expected_digest,
        known=book.Known({}, {}),
    )


def _row(request: Request) -> tuple[object, ...]:
    return (
        request.id,
        request.tenant,
        request.subject,
        request.lock,
        request.kind.value if request.kind else "",
        request.selector,
        request.tag,
        request.requested_at,
        deadline_of(request),
        not_before(request),
        request.expected_digest,
        *request.cause,
    )
