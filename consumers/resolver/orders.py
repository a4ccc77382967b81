"""What a person orders about a memory: confirm, decline, disable, correct, narrow, roll back, revert (U2, C10). Pure.

Each order is idempotent by its candidate, becomes evidence of the memories it concerns, and so takes part in every
later settling of their slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from consumers.resolver.model import Decided
from consumers.resolver.run import Run
from consumers.resolver.slots import value_digest
from consumers.settling.evidence import Evidence, Kind
from consumers.settling.memory import Memory
from schemas.records import Content, Draft
from schemas.words import Action, MemoryStatus, Outcome, SourceType, TurnOutcome

APPLIED, REJECTED, NO_MATCH, NOT_APPLICABLE = "applied", "rejected", "no_match", "not_applicable"

# Rules of the gate that are no judgement of the order's content.
_REFUSALS = {"consent": TurnOutcome.NOT_PERMITTED.value, "target": NO_MATCH}

_S = MemoryStatus
_CONFIRMABLE = frozenset({_S.SUGGESTED, _S.PENDING, _S.CONFLICTED, _S.ACTIVE})
_REMOVABLE = _CONFIRMABLE | {_S.QUARANTINED, _S.REVOKED}
_RETURNABLE = frozenset({_S.SUPERSEDED, _S.REVOKED, _S.EXPIRED})


def obey(run: Run, item: Decided) -> str:
    """Carry out an order and note on its control whether it was applied."""
    outcome = _carry_out(run, item) if item.outcome is Outcome.ACCEPT else _REFUSALS.get(item.rule, REJECTED)
    if item.origin.control is not None:
        run.result.controls.append((item.origin.control, outcome == APPLIED, outcome))
    return outcome


def _carry_out(run: Run, item: Decided) -> str:
    action = item.draft.action
    if action is Action.REVERT:
        return _revert(run, item)
    memory = run.memories.get(item.target or b"")
    if memory is None or memory.subject.handle != item.keys.handle:
        return NO_MATCH
    return _ORDERS[action](run, item, memory) if action in _ORDERS else NOT_APPLICABLE


def _confirm(run: Run, item: Decided, memory: Memory) -> str:
    if memory.status not in _CONFIRMABLE:
        return NOT_APPLICABLE
    return _add(run, item, memory, Kind.AFFIRM, "confirmed")


def _decline(run: Run, item: Decided, memory: Memory) -> str:
    if memory.status not in _REMOVABLE:
        return NOT_APPLICABLE
    return _add(run, item, memory, Kind.DECLINE)


def _disable(run: Run, item: Decided, memory: Memory) -> str:
    if memory.status not in _REMOVABLE:
        return NOT_APPLICABLE
    return _add(run, item, memory, Kind.DISABLE)


def _correct(run: Run, item: Decided, memory: Memory) -> str:
    """The person's own value takes the slot; the same value spelt anew is a new version of the same memory."""
    old, value = item.content, item.draft.content.value
    if old is None or not value:
        return NO_MATCH
    content = replace(old, value=value, quote=value)
    digest = value_digest(item.keys, value, memory.polarity)
    found = run.find(item.keys.handle, memory.identity, digest)
    if found is None:
        found = run.begin(item, memory.identity, digest, _like(memory, content))
    elif found is memory and content.value != old.value:
        found.content = content
    before = found.version
    outcome = _add(run, item, found, Kind.AFFIRM, "corrected")
    if found.content is not None and found.version == before:
        run.raise_version(found, item.cause, "corrected")
    return outcome


def _narrow(run: Run, item: Decided, memory: Memory) -> str:
    if item.content is None or item.narrowed is None:
        return NOT_APPLICABLE
    if memory.status not in _CONFIRMABLE:
        return NOT_APPLICABLE
    content = replace(item.content, scope=item.draft.content.scope)
    found = run.find(item.keys.handle, item.narrowed, memory.digest)
    if found is None:
        found = run.begin(item, item.narrowed, memory.digest, _like(memory, content))
        found.supersedes, found.version = memory.id, memory.version
    _add(run, item, found, Kind.AFFIRM, "narrowed")
    return _add(run, item, memory, Kind.MOVE)


def _roll_back(run: Run, item: Decided, memory: Memory) -> str:
    """Make the previous active version active again: of an active memory what it took over from, else itself."""
    if memory.status in _RETURNABLE:
        return _add(run, item, memory, Kind.AFFIRM, "rolled_back")
    previous = run.memories.get(memory.supersedes or b"")
    if memory.status is not _S.ACTIVE or previous is None:
        return NO_MATCH
    if previous.identity != memory.identity:
        _add(run, item, memory, Kind.MOVE, "rolled_back")
    return _add(run, item, previous, Kind.AFFIRM, "rolled_back")


def _revert(run: Run, item: Decided) -> str:
    """Take back what one conversation or time brought: what has no other source goes, what it replaced returns."""
    revert, handle = item.revert, item.keys.handle
    if revert is None:
        return NO_MATCH
    run.revert(handle, revert)
    touched: set[bytes] = set()
    for memory in run.of_handle(handle):
        gone = [one for one in memory.evidence if revert.covers(one.order, one.conversation, one.at)]
        if gone:
            run.void(memory, gone)
            touched.add(memory.identity)
    for slot, endings in run.endings(handle):
        lost = [ending for ending in endings if revert.covers(ending.order, ending.conversation, ending.at)]
        if lost:
            run.unend(slot, lost)
            touched.add(slot[1])
    for identity in sorted(touched):
        named = {memory.id: "restored" for memory in run.of_handle(handle) if memory.evidence}
        run.settle(item.cause, identity, named)
    return APPLIED if touched else NO_MATCH


def _add(run: Run, item: Decided, memory: Memory, kind: Kind, rule: str = "") -> str:
    ends = None
    if kind is Kind.AFFIRM:
        stated = [evidence.expires_at for evidence in sorted(memory.evidence) if evidence.kind.asserts][-1:]
        ends = next((end for end in stated if end is not None and end > item.decided_at), None)
    evidence = Evidence(
        item.order,
        kind,
        SourceType.USER_CONFIRMED,
        1.0,
        None,
        item.origin.at,
        item.origin.at,
        item.decided_at,
        ends,
    )
    run.support(memory, item, evidence)
    run.settle(item.cause, memory.identity, {memory.id: rule} if rule else {})
    return APPLIED


def _like(memory: Memory, content: Content) -> Draft:
    """Return what a person's order makes of a memory: the same, by the person's own word."""
    return Draft(
        content=content,
        type=memory.type,
        polarity=memory.polarity,
        source_type=SourceType.USER_CONFIRMED,
        confidence=1.0,
        importance=memory.importance,
        sensitivity=memory.sensitivity,
        explicit=True,
        visibility=memory.visibility,
    )


_Order = Callable[[Run, Decided, Memory], str]
_ORDERS: dict[Action | None, _Order] = {
    Action.CONFIRM: _confirm,
    Action.DECLINE: _decline,
    Action.DISABLE: _disable,
    Action.CORRECT: _correct,
    Action.NARROW: _narrow,
    Action.ROLLBACK: _roll_back,
}
