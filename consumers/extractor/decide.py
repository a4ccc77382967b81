"""The extractor's rules: what becomes of each turn and control, in log order. Pure.

One batch is a run along the log: a pause that stands before a sentence holds for that sentence, a message that
was stored by this batch is known to its rest. So it does not matter how the log is cut into batches.
"""

from __future__ import annotations

from consumers.consent import WRITING_ACTIONS, Consents
from consumers.deadletters import DeadLetter
from consumers.extractor.ids import candidate_id, conversation_id, refusal_id
from consumers.extractor.model import (
    CandidateRow,
    Heard,
    Known,
    Order,
    OrderRow,
    Ready,
    Refusal,
    Remembered,
    Result,
    State,
    TurnRow,
)
from consumers.extractor.propose import recall_turn
from policy.consent import CONSENT_ACTIONS
from schemas.words import Action, TurnOutcome
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow
from streams.codec import Position

APPLIED = "applied"


def decide(ready: Ready, state: State) -> Result:
    """Return everything that a batch changes; nothing is sealed and nothing is written yet."""
    run = _Run(state)
    for item in ready.items:
        if isinstance(item, Heard):
            run.hear(item)
        else:
            run.obey(item)
    return run.finish(ready)


class _Run:
    """One pass over a batch; what it stored so far overlays what the stores said."""

    __slots__ = ("_consents", "_known", "_orders", "_places", "_refused", "_result", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        self._result = Result()
        self._known = dict(state.known)
        self._refused = set(state.refused)
        self._orders = set(state.orders)
        self._places: dict[tuple[bytes, str], bytes] = {}
        self._consents = Consents(state.subjects, state.conversations)

    def finish(self, ready: Ready) -> Result:
        result = self._result
        result.dead_letters[:0] = ready.dead_letters
        result.consents = self._consents.changed
        result.conversations = self._consents.changed_conversations
        return result

    def hear(self, heard: Heard) -> None:
        outcome = self._hear(heard)
        if outcome is not None:
            self._result.counts[outcome] += 1

    def obey(self, order: Order) -> None:
        self._result.counts[self._obey(order)] += 1

    # Turns

    def _hear(self, heard: Heard) -> TurnOutcome | None:
        """Return the final outcome of a turn, None where it became a dead letter."""
        subjects = self._state.subjects
        subject, author = subjects[heard.subject], subjects.get(heard.author)
        if self._erased(heard, subject, author):
            return TurnOutcome.ERASED_SOURCE
        keys = self._keys(subject)
        row_id = self._state.names[heard.position]
        refusal = refusal_id(keys, heard.message_id, heard.revision) if heard.revision else row_id
        if refusal in self._refused:
            return TurnOutcome.NOT_PERMITTED
        digest = keys.digest("turn", heard.said)
        known = self._known.get(row_id)
        if known is not None and not _newer(heard, digest, known):
            return self._repeat(heard, digest, known)
        if not self._consents.permits(subject.tenant, heard.subject, heard.author, heard.consent):
            self._refused.add(refusal)
            self._result.refusals.append(Refusal(refusal, keys.handle, heard.position))
            return TurnOutcome.NOT_PERMITTED
        self._known[row_id] = Known(heard.revision, digest, heard.position)
        place = self._place(keys, heard.conversation)
        # Not erased means that both rows are alive, so the author's is there.
        assert author is not None  # noqa: S101
        self._keep(TurnRow(row_id, heard, place, digest, subject, author, keys), stored=row_id in self._state.known)
        return TurnOutcome.STORED

    def _erased(self, heard: Heard, subject: SubjectRow, author: SubjectRow | None) -> bool:
        if heard.tombstone in self._state.tombstones or subject.fenced(heard.position, heard.at):
            return True
        return author is not None and author is not subject and author.fenced(heard.position, heard.at)

    def _repeat(self, heard: Heard, digest: bytes, known: Known) -> TurnOutcome | None:
        """Tell a message that came again from another one that claims its id."""
        if digest == known.digest or _before(heard.position, known.position):
            return TurnOutcome.DUPLICATE
        self._result.dead_letters.append(DeadLetter(heard.position, "id_conflict"))
        return None

    def _keep(self, row: TurnRow, *, stored: bool) -> None:
        result = self._result
        if row.heard.revision:
            self._withdraw(row.id)
        (result.revised if stored else result.turns)[row.id] = row
        if row.heard.kinds:
            self._note(row.keys, row.heard.kinds, row.heard.position)
        for ordinal, draft in enumerate(row.heard.drafts):
            name = candidate_id(row.keys, row.id, row.heard.revision, ordinal)
            result.candidates[name] = CandidateRow(
                name, draft, row.heard.consent, row.id, None, row.heard.position, row.subject, row.author, row.keys
            )

    def _withdraw(self, turn: bytes) -> None:
        """Drop what this batch drew from an older text of the message."""
        candidates = self._result.candidates
        for name in [name for name, row in candidates.items() if row.turn == turn]:
            del candidates[name]

    # Controls

    def _obey(self, order: Order) -> TurnOutcome:
        subject = self._state.subjects[order.subject]
        if subject.fenced(order.position, order.at):
            return TurnOutcome.ERASED_SOURCE
        keys = self._keys(subject)
        row_id = self._state.names[order.position]
        if row_id in self._orders:
            return TurnOutcome.DUPLICATE
        self._orders.add(row_id)
        outcome = self._carry_out(order, row_id, subject, keys)
        self._result.orders.append(OrderRow(row_id, order, outcome, subject, keys))
        self._note(keys, order.kinds, order.position)
        return TurnOutcome.NOT_PERMITTED if outcome == TurnOutcome.NOT_PERMITTED else TurnOutcome.STORED

    def _carry_out(self, order: Order, row_id: bytes, subject: SubjectRow, keys: SubjectKeys) -> str | None:
        """Return the outcome of a control, None where gate and resolver have the last word."""
        if order.action in CONSENT_ACTIONS:
            self._consents.apply(order.action, order.subject, order.consent)
            return APPLIED
        permitted = self._consents.permits(subject.tenant, order.subject, order.subject, order.consent)
        if order.action in WRITING_ACTIONS and not permitted:
            return TurnOutcome.NOT_PERMITTED
        if order.action is Action.PRE_COMPRESS:
            self._read_again(order, subject, keys)
            return APPLIED
        assert order.draft is not None  # noqa: S101 - every other action has one
        name = candidate_id(keys, row_id, 0, 0)
        self._result.candidates[name] = CandidateRow(
            name, order.draft, order.consent, None, row_id, order.position, subject, subject, keys
        )
        return None

    def _read_again(self, order: Order, subject: SubjectRow, keys: SubjectKeys) -> None:
        """Propose from the stored events of a conversation; what was proposed before is not again (W9)."""
        place = (keys.handle, self._place(keys, order.conversation or ""))
        for turn in self._state.remembered.get(place, ()):
            if turn.id not in self._result.revised and turn.id not in self._state.tombstones:
                self._propose_again(order, turn, subject, keys)

    def _propose_again(self, order: Order, turn: Remembered, subject: SubjectRow, keys: SubjectKeys) -> None:
        for ordinal, draft in enumerate(recall_turn(keys.open(turn.id, turn.body), turn.role, turn.at)):
            name = candidate_id(keys, turn.id, turn.revision, ordinal)
            if name not in self._state.proposed:
                self._result.candidates.setdefault(
                    name,
                    CandidateRow(name, draft, order.consent, turn.id, None, order.position, subject, subject, keys),
                )

    # Both

    def _keys(self, subject: SubjectRow) -> SubjectKeys:
        assert subject.handle is not None  # noqa: S101 - load turned back where a live record met none
        return self._state.keys[subject.handle]

    def _place(self, keys: SubjectKeys, conversation: str) -> bytes:
        named = (keys.handle, conversation)
        place = self._places.get(named)
        if place is None:
            place = self._places[named] = conversation_id(keys, conversation)
        return place

    def _note(self, keys: SubjectKeys, kinds: tuple[str, ...], position: Position) -> None:
        for kind in dict.fromkeys(kinds):
            self._result.kinds.append((keys.handle, kind, position))


def _newer(heard: Heard, digest: bytes, known: Known) -> bool:
    """True where a message was edited since it was stored."""
    return heard.revision > known.revision and digest != known.digest and not _before(heard.position, known.position)


def _before(one: Position, other: Position) -> bool:
    """True where both lie in one partition and the first is older, so that it had its outcome long ago."""
    return one.log == other.log and one.part == other.part and one.pos < other.pos
