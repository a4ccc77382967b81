"""The gate: what happens around its rules. Candidates in, decisions out."""

from __future__ import annotations

from collections.abc import Sequence

from consumers.contract import BaseConsumer, Span
from consumers.deadletters import DeadLetter
from consumers.gate import store
from consumers.gate.decide import decide
from consumers.gate.look import look
from consumers.gate.model import Ready, Result, State, Waiting
from policy.document import load_policy
from schemas.errors import InvalidEvent
from schemas.events import CandidateEvent, DecisionEvent
from schemas.settings import Settings
from schemas.topics import CANDIDATES, DECISIONS
from schemas.words import Outcome
from stores.database import Connection
from stores.sql import load
from stores.vault import open_vault
from streams.codec import Message, Record, decode, message
from streams.metrics import DECISIONS as DECIDED

_SQL = load("consumers.gate", "queries.sql")


class Gate(BaseConsumer[Ready, State, Result]):
    """Decides what becomes of candidates, by the policy that was in force when it started."""

    name = "gate"
    topics = (CANDIDATES,)

    def __init__(self, settings: Settings) -> None:
        """Read the policy and open the vault.

        Raises:
            ConfigurationError: the policy document or the vault cannot be used.
        """
        self._policy = load_policy(settings.policy)
        self._vault = open_vault(settings)

    def prepare(self, batch: Sequence[Record]) -> Ready:
        """Decode the announcements."""
        items: list[Waiting] = []
        dead: list[DeadLetter] = []
        for record in sorted(batch, key=_position):
            try:
                items.append(_waiting(record))
            except InvalidEvent as error:
                dead.append(DeadLetter(record.position, error.reason))
        return Ready(tuple(items), tuple(dead))

    def load(self, tx: Connection, ready: Ready) -> State:
        """Lock, read and open. See `look`."""
        return look(tx, self._vault, ready)

    def decide(self, ready: Ready, state: State) -> Result:
        """Apply the policy. See `decide`."""
        return decide(self._policy, ready, state)

    def store(self, tx: Connection, result: Result) -> None:
        """Write the decisions. See `store.write`."""
        store.write(tx, self._policy, result)

    def publish(self, result: Result) -> list[Message]:
        """Announce the decisions."""
        made = [(decision.candidate, decision.verdict) for decision in result.decisions]
        return [_event(of.id, of.handle, of.epoch, verdict.outcome, verdict.rule) for of, verdict in made]

    def republish(self, tx: Connection, spans: Sequence[Span]) -> list[Message]:
        """Announce again what records of these spans caused."""
        rows = [
            row
            for span in spans
            for row in tx.execute(_SQL.caused, (span.log, span.part, span.start, span.stop)).fetchall()
        ]
        return [_event(*row) for row in rows]

    def settle(self, result: Result) -> None:
        """Count the decisions once they are committed."""
        for made in result.decisions:
            DECIDED.labels(made.verdict.outcome, made.verdict.rule).inc()

    def close(self) -> None:
        """Let go of the vault."""
        self._vault.close()


def _position(record: Record) -> tuple[int, int, int]:
    return record.position


def _waiting(record: Record) -> Waiting:
    event = decode(record)
    assert isinstance(event, CandidateEvent)  # noqa: S101 - decode knows what a topic carries
    return Waiting(record.position, bytes.fromhex(event.id), bytes.fromhex(event.handle), event.epoch)


def _event(candidate: bytes, handle: bytes, epoch: int, outcome: str, rule: str) -> Message:
    event = DecisionEvent(id=candidate.hex(), handle=handle.hex(), epoch=epoch, outcome=Outcome(outcome), rule=rule)
    return message(DECISIONS, event.handle, event, event.id)
