"""The resolver: what happens around its rules. Decisions in, changes of memories out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from consumers import outbox
from consumers.contract import BaseConsumer, Span
from consumers.deadletters import DeadLetter
from consumers.resolver import expiry, store
from consumers.resolver.decide import decide
from consumers.resolver.look import look
from consumers.resolver.model import Announced, Ready, Result, State
from consumers.resolver.withdraw import Edits
from consumers.settling.settle import Rules
from policy.document import load_policy
from schemas.errors import InvalidEvent
from schemas.events import Change, DecisionEvent
from schemas.settings import Settings
from schemas.topics import CHANGES, DECISIONS
from schemas.words import MemoryStatus, Outcome
from stores.database import Connection
from stores.sql import load
from stores.vault import open_vault
from streams.codec import Message, Record, decode, message
from streams.metrics import MEMORIES

_SQL = load("consumers.resolver", "queries.sql")
_SELDOM_S = 30.0
_LOST_AT_ONCE = 5000


class Resolver(BaseConsumer[Ready, State, Result]):
    """Keeps memories consistent, by the policy that was in force when it started."""

    name = "resolver"
    topics = (DECISIONS,)

    def __init__(self, settings: Settings) -> None:
        """Read the policy and open the vault.

        Raises:
            ConfigurationError: the policy document or the vault cannot be used.
        """
        self._policy = load_policy(settings.policy)
        self._rules = Rules.of(self._policy)
        self._vault = open_vault(settings)
        self._edits = Edits(self._vault, self._rules)
        self._count_next = 0.0

    def prepare(self, batch: Sequence[Record]) -> Ready:
        """Decode the announcements."""
        items: list[Announced] = []
        dead: list[DeadLetter] = []
        for record in sorted(batch, key=_position):
            try:
                items.append(_announced(record))
            except InvalidEvent as error:
                dead.append(DeadLetter(record.position, error.reason))
        return Ready(tuple(items), tuple(dead))

    def load(self, tx: Connection, ready: Ready) -> State:
        """Lock, read and open. See `look`."""
        return look(tx, self._vault, self._policy, ready)

    def decide(self, ready: Ready, state: State) -> Result:
        """Apply the rules of conflict. See `decide`."""
        return decide(ready, state, self._rules)

    def store(self, tx: Connection, result: Result) -> None:
        """Write memories, history, sources and lineage. See `store.write`."""
        store.write(tx, result)

    def publish(self, result: Result) -> list[Message]:
        """Announce every new version."""
        return changes(
            (row.memory, row.version, row.status, row.cause.keys.handle, row.cause.subject.epoch)
            for row in result.versions
        )

    def republish(self, tx: Connection, spans: Sequence[Span]) -> list[Message]:
        """Announce again what records of these spans caused."""
        rows: list[expiry.Changed] = []
        for span in spans:
            rows += tx.execute(_SQL.caused, (span.log, span.part, span.start, span.stop)).fetchall()
        return changes(rows)

    def tick(self, tx: Connection) -> list[Message]:
        """End what is past its time, withdraw what was edited, and count now and then."""
        now = time.monotonic()
        if now > self._count_next:
            for status, number in expiry.totals(tx).items():
                MEMORIES.labels(status).set(number)
            # Counting reads the whole table, so it gets one part in a hundred of the time.
            self._count_next = now + max(_SELDOM_S, 100 * (time.monotonic() - now))
        return changes([*expiry.expire(tx), *self._edits.withdraw(tx)])

    def reconcile(self, tx: Connection, lost: Sequence[Span]) -> None:
        """Announce decisions again that left nothing behind: they may be among the lost ones."""
        rows = tx.execute(_SQL.unresolved, (_LOST_AT_ONCE,)).fetchall()
        events = [
            DecisionEvent(id=row[0].hex(), handle=row[1].hex(), epoch=row[2], outcome=Outcome(row[3]), rule=row[4])
            for row in rows
        ]
        outbox.put(tx, self.name, [message(DECISIONS, event.handle, event, event.id) for event in events])

    def close(self) -> None:
        """Let go of the vault."""
        self._vault.close()


def changes(rows: Iterable[expiry.Changed]) -> list[Message]:
    """Return the announcements of new versions; the same version always has the same event id."""
    made = []
    for memory, version, status, handle, epoch in rows:
        event = Change(id=memory.hex(), version=version, status=MemoryStatus(status), handle=handle.hex(), epoch=epoch)
        made.append(message(CHANGES, event.handle, event, f"{event.id}.{version}"))
    return made


def _position(record: Record) -> tuple[int, int, int]:
    return record.position


def _announced(record: Record) -> Announced:
    event = decode(record)
    assert isinstance(event, DecisionEvent)  # noqa: S101 - decode knows what a topic carries
    return Announced(record.position, bytes.fromhex(event.id), bytes.fromhex(event.handle), event.epoch)
