"""The resolver's rules: what each decision does to the memories of its slot. Pure.

A claim adds evidence to the memory of its value, an ending closes a slot, an order acts on the memory that it names
(`orders`). Then the slot is settled anew from all its evidence (`settle`).
"""

from __future__ import annotations

from consumers.resolver.model import Decided, Ready, Result, State
from consumers.resolver.orders import obey
from consumers.resolver.run import Run, kind_of
from consumers.resolver.slots import value_digest
from consumers.settling.evidence import Evidence, Kind, graded
from consumers.settling.memory import Memory
from consumers.settling.settle import Rules
from schemas.words import MemoryStatus, Outcome, TurnOutcome

LAST = "last"
NONE, MERGED, ENDED, NO_MATCH, REVERTED = "none", "merged", "ended", "no_match", "reverted"
# What an ending may be about: these are in use or wait to be.
_IN_USE = frozenset({MemoryStatus.ACTIVE, MemoryStatus.CONFLICTED, MemoryStatus.SUGGESTED, MemoryStatus.PENDING})


def decide(ready: Ready, state: State, rules: Rules) -> Result:
    """Return everything that a batch changes; nothing is sealed and nothing is written yet."""
    run = Run(state, rules)
    seen: set[bytes] = set()
    for announced in ready.items:
        outcome = TurnOutcome.DUPLICATE if announced.id in seen else _take(run, announced.id)
        seen.add(announced.id)
        run.result.counts[outcome] += 1
    run.result.dead_letters[:0] = ready.dead_letters
    return run.result


def _take(run: Run, candidate: bytes) -> str:
    state = run.state
    if candidate in state.applied:
        return TurnOutcome.DUPLICATE
    item = state.decided.get(candidate)
    if item is None or candidate in state.erased:
        return TurnOutcome.ERASED_SOURCE
    if candidate in state.refused:
        return _refuse(run, item)
    if item.draft.action is not None:
        return obey(run, item)
    if item.outcome is Outcome.REJECT:
        return NONE
    if run.reverted(item):
        return REVERTED
    return _end(run, item) if item.draft.ends else _claim(run, item)


def _refuse(run: Run, item: Decided) -> str:
    """Consent was withdrawn while the claim was on its way: final, for a replay too (P7)."""
    if item.origin.control is not None:
        run.result.controls.append((item.origin.control, False, TurnOutcome.NOT_PERMITTED))
    run.result.refusals.append((item.candidate, item.keys.handle, item.position))
    return TurnOutcome.NOT_PERMITTED


def _claim(run: Run, item: Decided) -> str:
    draft, identity = item.draft, item.identities[0]
    digest = value_digest(item.keys, draft.content.value, draft.polarity)
    memory = run.find(item.keys.handle, identity, digest)
    known = memory is not None
    if memory is None:
        memory = run.begin(item, identity, digest, draft)
    else:
        run.merge(memory, draft)
    before = memory.version
    run.support(memory, item, said(item, kind_of(item.outcome)))
    run.settle(item.cause, identity)
    return MERGED if known and memory.version == before else str(memory.status)


def said(item: Decided, kind: Kind) -> Evidence:
    """Return a claim as evidence."""
    draft, origin = item.draft, item.origin
    return Evidence(
        item.order,
        kind,
        draft.source_type,
        graded(draft.confidence),
        origin.conversation,
        origin.at,
        draft.valid_from or origin.at,
        item.decided_at,
        item.expires_at,
    )


def _end(run: Run, item: Decided) -> str:
    """End what a person says is no longer so: by its slot and value, never by likeness (B7, C13)."""
    if item.outcome is not Outcome.ACCEPT:
        return NONE
    if item.draft.target == LAST:
        memory = _newest(run, item)
        if memory is None:
            return NO_MATCH
        places: list[tuple[bytes, frozenset[bytes] | None]] = [(memory.identity, frozenset({memory.digest}))]
    else:
        places = [(identity, item.digests) for identity in item.identities]
    before = len(run.result.versions)
    for identity, digests in places:
        run.end(item, identity, digests)
        run.settle(item.cause, identity)
    return ENDED if len(run.result.versions) > before else NO_MATCH


def _newest(run: Run, item: Decided) -> Memory | None:
    """Return what "that" is in "forget that": the newest memory in use that this conversation brought before it."""
    best: tuple[object, Memory] | None = None
    for memory in run.of_handle(item.keys.handle):
        if memory.status not in _IN_USE:
            continue
        for evidence in memory.evidence:
            here = evidence.conversation == item.origin.conversation and evidence.order < item.order
            if here and evidence.kind.asserts and (best is None or evidence.order > best[0]):  # type: ignore[operator]
                best = (evidence.order, memory)
    return best[1] if best else None
