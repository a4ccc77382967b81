"""One pass over a batch: slots as they stand, evidence added, every change with its version. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from consumers.resolver.model import Cause, Decided, Result, Revert, State, StoredEnding, Support, Version
from consumers.resolver.slots import memory_id
from consumers.settling.evidence import Ending, Evidence, Kind, graded
from consumers.settling.memory import Memory, Slot
from consumers.settling.place import place
from consumers.settling.settle import Rules, Told, settle
from schemas.records import Draft
from schemas.words import MemoryStatus, Outcome, Sensitivity
from stores.memories import namespace_hashes

_UNNAMED: Mapping[bytes, str] = {}
_LEVELS = {level: rank for rank, level in enumerate(Sensitivity)}


class Run:
    """The memories of a batch; decisions are taken one after another, so batches may be cut anywhere."""

    __slots__ = ("_endings", "_reverts", "_rules", "_slots", "memories", "result", "state")

    def __init__(self, state: State, rules: Rules) -> None:
        """Start from what the stores say, which is not changed."""
        self.state = state
        self.result = Result()
        self._rules = rules
        self._slots: defaultdict[Slot, list[Memory]] = defaultdict(list)
        self.memories: dict[bytes, Memory] = {}
        self._endings: dict[Slot, list[Ending]] = {slot: list(found) for slot, found in state.endings.items()}
        self._reverts = {handle: list(found) for handle, found in state.reverts.items()}
        for stored in state.memories:
            memory = copy(stored)
            memory.evidence = list(stored.evidence)
            self._add(memory)

    # Looking

    def find(self, handle: bytes, identity: bytes, digest: bytes) -> Memory | None:
        """Return the memory of a slot with a value."""
        for memory in self._slots.get((handle, identity), ()):
            if memory.digest == digest:
                return memory
        return None

    def of_handle(self, handle: bytes) -> list[Memory]:
        """Return all known memories of one person."""
        return [memory for memory in self.memories.values() if memory.subject.handle == handle]

    def reverted(self, item: Decided) -> bool:
        """Tell whether the person has already taken back what a decision brings."""
        found = self._reverts.get(item.keys.handle)
        if not found:
            return False
        return any(one.covers(item.order, item.origin.conversation, item.origin.at) for one in found)

    # Changing

    def revert(self, handle: bytes, revert: Revert) -> None:
        """Remember what is taken back, for what arrives later."""
        self._reverts.setdefault(handle, []).append(revert)

    def begin(self, item: Decided, identity: bytes, digest: bytes, draft: Draft) -> Memory:
        """Begin a memory with what a draft says; it has no evidence and no status yet."""
        memory = Memory(
            id=memory_id(item.keys, item.candidate),
            subject=item.subject,
            identity=identity,
            digest=digest,
            type=draft.type,
            polarity=draft.polarity,
            source_type=draft.source_type,
            sensitivity=draft.sensitivity,
            visibility=draft.visibility,
            confidence=graded(draft.confidence),
            importance=graded(draft.importance),
            explicit=draft.explicit,
            valid_from=draft.valid_from or item.origin.at,
            review_at=item.review_at,
            namespaces=list(namespace_hashes(item.keys, draft.content.namespace)),
            content=draft.content,
        )
        self._add(memory)
        return memory

    def support(self, memory: Memory, item: Decided, evidence: Evidence) -> None:
        """Add evidence to a memory; what it has from that candidate already counts once."""
        memory.evidence.append(evidence)
        memory.count += evidence.kind.asserts
        self.result.supports.append(Support(memory.id, evidence, item))
        self.touch(memory)

    def merge(self, memory: Memory, draft: Draft) -> None:
        """Let a repeat add to what is known: the first source stays, the highest marks count (C2)."""
        memory.importance = max(memory.importance, graded(draft.importance))
        memory.explicit = memory.explicit or draft.explicit
        memory.sensitivity = max(memory.sensitivity, draft.sensitivity, key=_LEVELS.__getitem__)

    def end(self, item: Decided, identity: bytes, digests: frozenset[bytes] | None) -> None:
        """Remember an ending for a slot."""
        ending = Ending(item.order, digests, item.origin.at, item.origin.conversation)
        self._endings.setdefault((item.keys.handle, identity), []).append(ending)
        self.result.endings.append(StoredEnding(identity, ending, item))

    def void(self, memory: Memory, gone: Iterable[Evidence]) -> None:
        """Take evidence back."""
        lost = set(gone)
        memory.evidence = [item for item in memory.evidence if item not in lost]
        memory.count -= sum(item.kind.asserts for item in lost)
        self.result.voided.update((memory.id, item.candidate) for item in lost)
        self.touch(memory)

    def unend(self, slot: Slot, gone: Sequence[Ending]) -> None:
        """Take endings back."""
        self._endings[slot] = [ending for ending in self._endings[slot] if ending not in gone]
        self.result.unended.update(ending.order[3] for ending in gone)

    def endings(self, handle: bytes) -> list[tuple[Slot, list[Ending]]]:
        """Return the endings of one person, by slot."""
        return [(slot, found) for slot, found in self._endings.items() if slot[0] == handle]

    def touch(self, memory: Memory) -> None:
        """Have a memory written."""
        self.result.memories[memory.id] = memory

    def settle(self, cause: Cause, identity: bytes, named: Mapping[bytes, str] = _UNNAMED) -> None:
        """Work out where the memories of a slot stand now, and version what changed.

        Args:
            cause: what changed the slot.
            identity: the slot.
            named: rules of history for some memories, where the decision has its own word for them.
        """
        at = (cause.keys.handle, identity)
        slot = self._slots.get(at, [])
        told = [Told(memory.digest, memory.type, memory.evidence) for memory in slot]
        standings = settle(told, self._endings.get(at, ()), self._rules, self.state.now)
        before = [memory.version for memory in slot]
        active: list[tuple[Memory, str, int]] = []
        for memory, standing in zip(slot, standings, strict=True):
            stood = memory.status
            if place(memory, standing, slot, self._rules):
                self.touch(memory)
            if memory.status is stood:
                continue
            rule = named.get(memory.id, standing.rule)
            if standing.status is not MemoryStatus.ACTIVE:
                self.raise_version(memory, cause, rule)
                continue
            base = 0 if standing.supersedes is None else before[standing.supersedes]
            active.append((memory, rule, base))
        # What is superseded changes first, so that a reader of the changes never sees two active ones.
        for memory, rule, base in active:
            self.raise_version(memory, cause, rule, base)

    def raise_version(self, memory: Memory, cause: Cause, rule: str, above: int = 0) -> None:
        """Give a memory its next version; a superseder starts above what it supersedes (C4)."""
        memory.version = max(memory.version, above) + 1
        assert memory.status is not None  # noqa: S101 - settle has placed it
        self.result.versions.append(Version(memory.id, memory.version, memory.status, rule, cause))
        self.touch(memory)

    def _add(self, memory: Memory) -> None:
        self.memories[memory.id] = memory
        self._slots[memory.subject.handle or b"", memory.identity].append(memory)


def kind_of(outcome: Outcome) -> Kind:
    """Return the evidence that an outcome of policy makes of a claim."""
    return Kind(outcome.value)
