"""Pure: what becomes of registrations and of owners' answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from consumers.deadletters import DeadLetter
from consumers.purger.owners.registration import Message, Registration
from policy.acknowledgement import Ordered, refusal
from schemas.events import ErasureAck
from streams.codec import Position

UNKNOWN_PARENT = "unknown_parent"


@dataclass(frozen=True, slots=True)
class Parent:
    """A parent that is known.

    Attributes:
        kind: ``memory`` or ``turn``.
        erased: True where it is gone or going: the artefact must follow.
        erasure: the erasure that took it, where only that says so; None where its handle tells.
        departs: the subject under which it is to be noted as departed, where nobody has noted it yet.
    """

    kind: str
    id: bytes
    tenant: bytes
    handle: bytes
    erased: bool
    erasure: bytes | None = None
    departs: bytes | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What an owner was told."""

    no: int
    erasure: bytes
    owner: str
    challenge: str
    action: str
    count: int
    state: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An owner's answer and where it lies."""

    position: Position
    ack: ErasureAck


@dataclass(frozen=True, slots=True)
class State:
    """What was read: parents by memory id or message, artefacts' newest words, orders, keys."""

    memories: Mapping[bytes, Parent] = field(default_factory=dict)
    messages: Mapping[Message, Parent] = field(default_factory=dict)
    known: Mapping[bytes, Position] = field(default_factory=dict)
    orders: Sequence[Order] = ()
    keys: Mapping[str, Ed25519PublicKey] = field(default_factory=dict)


@dataclass(slots=True)
class Verdict:
    """What is to be stored."""

    artefacts: dict[bytes, Registration] = field(default_factory=dict)
    edges: dict[tuple[bytes, bytes], Parent] = field(default_factory=dict)
    answers: list[tuple[Order, ErasureAck]] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    repeated: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How often each outcome occurred, those that did."""
        found = {
            "registered": len(self.artefacts),
            "answered": len(self.answers),
            "repeated": self.repeated,
        }
        return {name: count for name, count in found.items() if count}

    @property
    def urgent(self) -> bool:
        """True where an erasure has something to do at once."""
        return bool(self.answers) or any(parent.erased for parent in self.edges.values())


def decide(registrations: Sequence[Registration], answers: Sequence[Answer], state: State) -> Verdict:
    """Register what has known parents, and take answers that count."""
    verdict = Verdict()
    for one in registrations:
        _register(one, state, verdict)
    for answer in answers:
        _take(answer, state, verdict)
    return verdict


def _register(one: Registration, state: State, verdict: Verdict) -> None:
    found = [state.memories.get(memory) for memory in one.memories]
    found += [state.messages.get(message) for message in one.messages]
    parents = [parent for parent in found if parent is not None and parent.tenant == one.tenant]
    if len(parents) < len(found):
        verdict.letters.append(DeadLetter(one.position, UNKNOWN_PARENT))
        return
    if _is_old(one.position, state.known.get(one.id)):
        # Read again: what was erased since has been asked of its owner already.
        parents = [parent for parent in parents if not parent.erased]
        if not parents:
            verdict.repeated += 1
            return
    verdict.artefacts[one.id] = one
    verdict.edges |= {(one.id, parent.id): parent for parent in parents}


def _is_old(position: Position, known: Position | None) -> bool:
    return known is not None and position[:2] == known[:2] and position.pos <= known.pos


def _take(answer: Answer, state: State, verdict: Verdict) -> None:
    ack = answer.ack
    order = _meant(ack, state.orders)
    ordered = Ordered(order.challenge, order.count) if order else None
    reason = refusal(ack, ordered, state.keys.get(ack.owner))
    if order is None or reason is not None:
        verdict.letters.append(DeadLetter(answer.position, reason or "unknown_order"))
    elif order.state == "done" or any(o.no == order.no and a.state == "done" for o, a in verdict.answers):
        verdict.repeated += 1
    else:
        verdict.answers = [(o, a) for o, a in verdict.answers if o.no != order.no]
        verdict.answers.append((order, ack))


def _meant(ack: ErasureAck, orders: Sequence[Order]) -> Order | None:
    """The order with the answer's challenge; without such the newest, whose challenge it then fails."""
    erasure = bytes.fromhex(ack.erasure_id)
    theirs = [order for order in orders if (order.erasure, order.owner) == (erasure, ack.owner)]
    exact = [order for order in theirs if order.challenge == ack.challenge]
    return next(reversed(exact or theirs), None)
