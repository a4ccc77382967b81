"""The indexer's rules: what a hint means, given how things stand now. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from consumers.indexer.model import WRITTEN, Embedded, Entry, Hint, Memory, Ready, Result, State, Write
from schemas.errors import SubjectMoved
from schemas.words import TurnOutcome

INDEXED, CURRENT, REMOVED, NONE = "indexed", "current", "removed", "none"


def decide(ready: Ready, state: State) -> Result:
    """Return the points to write and to remove.

    Raises:
        SubjectMoved: a memory has a version that was not embedded; the batch is prepared again.
    """
    result = Result(dead_letters=ready.dead_letters)
    seen: set[bytes] = set()
    for hint in ready.hints:
        if hint.memory is None:
            result.count(NONE)
        elif hint.memory in seen:
            result.count(TurnOutcome.DUPLICATE)
        else:
            seen.add(hint.memory)
            result.count(_take(result, state, hint.memory, hint, ready.embedded.get(hint.memory)))
    return result


def _take(result: Result, state: State, name: bytes, hint: Hint, embedded: Embedded | None) -> str:
    memory = state.memories.get(name)
    entries = state.ledger.get(name, ())
    handle = memory.handle if memory is not None else hint.handle
    if not _lives(state, memory, handle):
        # Block came first: its points are the purger's, who knows them by the ledger.
        return TurnOutcome.ERASED_SOURCE
    if memory is None or not memory.active:
        result.removals += entries
        return REMOVED if entries else NONE
    return _keep(result, memory, entries, embedded)


def _lives(state: State, memory: Memory | None, handle: bytes | None) -> bool:
    if memory is None:
        # Without a row there is nothing to protect, only points to remove.
        return handle is None or handle in state.subjects
    subject = state.subjects.get(memory.handle)
    return subject is not None and subject.epoch == memory.epoch


def _keep(result: Result, memory: Memory, entries: Sequence[Entry], embedded: Embedded | None) -> str:
    """Have the current version, and no other, in the index."""
    result.removals += [entry for entry in entries if entry.version != memory.version]
    here = [entry for entry in entries if entry.version == memory.version]
    if memory.indexed_version == memory.version and any(entry.state == WRITTEN for entry in here):
        return CURRENT
    if embedded is None or embedded.version != memory.version:
        raise SubjectMoved("a memory changed while it was embedded")
    result.writes.append(Write(memory.point(embedded.point), embedded.vector, memory.updated_at))
    return INDEXED
