"""What the tables would hold, for tests of the resolver's pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from consumers.resolver.decide import LAST, decide
from consumers.resolver.model import Announced, Decided, Origin, Ready, Result, Revert, State, Version
from consumers.resolver.slots import ended_digests, identities, identity
from consumers.settling.evidence import Ending
from consumers.settling.memory import Memory, Slot
from consumers.settling.settle import Rules
from policy.document import load_policy
from schemas.records import Content, Draft
from schemas.words import Action, Consent, MemoryStatus, MemoryType, Outcome, Polarity, SourceType
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow
from streams.codec import Position

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HANDLE = b"h" * 16
KEYS = SubjectKeys(HANDLE, b"k" * 32)
ANN = SubjectRow(b"r" * 16, b"t" * 16, 1, HANDLE, 1, Consent.ON, {}, None, 0)
RULES = Rules.of(load_policy())


def named(name: str) -> bytes:
    return KEYS.id("test", name)


def claim(
    row: int,
    value: str,
    *,
    key: str = "editor",
    outcome: str = "accept",
    conversation: str = "c1",
    step: int = 0,
    at: datetime | None = None,
    turn: str = "",
    conditions: tuple[str, ...] = (),
    scope: str = "global",
    namespace: str = "preferences",
    **fields: Any,
) -> Decided:
    """A decision about what a turn claims; ``fields`` are those of a draft."""
    content = Content(namespace, key, value, f"quote of {value}", conditions, scope)
    given: dict[str, Any] = {
        "type": MemoryType.PREFERENCE,
        "polarity": Polarity.POSITIVE,
        "source_type": SourceType.USER_STATED,
        "confidence": 0.9,
        "importance": 0.5,
    }
    draft = Draft(content, **{**given, **fields})
    moment = at or NOON + timedelta(minutes=row)
    name = f"{row}.{value}.{turn}.{conversation}"
    origin = Origin(row, step, moment, turn=named(name), conversation=named(conversation), names={"message_id": name})
    return _placed(decided(f"{name}.{outcome}.{draft}", draft, origin, outcome))


def ends(row: int, value: str, *, target: str | None = None, **fields: Any) -> Decided:
    """A decision about "no longer"."""
    given = {"polarity": Polarity.NEUTRAL, **fields}
    return _placed(claim(row, value, ends=True, target=target, turn="end", **given))


def order(row: int, action: Action, target: Memory | None = None, **fields: Any) -> Decided:
    """A decision about an order of the person, given after the turn of that row."""
    value, scope = fields.pop("value", ""), fields.pop("scope", "global")
    outcome, step = fields.pop("outcome", "accept"), fields.pop("step", 1)
    draft = Draft(
        Content("", "", value, value, scope=scope),
        MemoryType.FACT,
        Polarity.NEUTRAL,
        SourceType.USER_CONFIRMED,
        1.0,
        1.0,
        action=action,
        target=target.id.hex() if target else None,
    )
    name = f"{action}.{row}.{step}.{fields}"
    origin = Origin(row, step, NOON + timedelta(minutes=row, seconds=step), control=named(name), actor="person")
    made = decided(name, draft, origin, outcome)
    if action is not Action.REVERT:
        return replace(made, target=target.id if target else None)
    conversation = named(fields["conversation"]) if "conversation" in fields else None
    return replace(made, revert=Revert((row, step), conversation, fields.get("since"), fields.get("until")))


def decided(name: str, draft: Draft, origin: Origin, outcome: str) -> Decided:
    return Decided(
        position=Position(9, 0, origin.row * 10 + origin.step),
        candidate=named("candidate " + name),
        outcome=Outcome(outcome),
        rule="test",
        decided_at=origin.at,
        draft=draft,
        origin=origin,
        subject=ANN,
        keys=KEYS,
        author=ANN.ref,
        expires_at=draft.expires_at,
    )


def _placed(item: Decided) -> Decided:
    draft = item.draft
    if draft.ends:
        found = () if draft.target == LAST else identities(KEYS, draft.content, draft.visibility)
        digests = ended_digests(KEYS, draft.content, draft.polarity)
        return replace(item, identities=found, digests=digests)
    return replace(item, identities=(identity(KEYS, draft.content, draft.type, draft.visibility),))


@dataclass
class World:
    """Tables; `take` is one batch."""

    memories: dict[bytes, Memory] = field(default_factory=dict)
    endings: dict[Slot, list[Ending]] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    applied: set[bytes] = field(default_factory=set)
    contents: dict[bytes, Content] = field(default_factory=dict)
    controls: dict[bytes, tuple[bool, str]] = field(default_factory=dict)
    reverts: list[Revert] = field(default_factory=list)
    now: datetime = NOON

    def take(self, *items: Decided, refused: Iterable[Decided] = (), erased: Iterable[Decided] = ()) -> Result:
        opened = [self._opened(item) for item in items]
        state = State(
            decided={item.candidate: item for item in opened},
            erased=frozenset(item.candidate for item in erased),
            refused={item.candidate: ANN for item in refused},
            applied=frozenset(item.candidate for item in items if self._answered(item)),
            memories=list(self.memories.values()),
            endings=self.endings,
            now=self.now,
            reverts={HANDLE: self.reverts},
        )
        ready = Ready(tuple(Announced(item.position, item.candidate, HANDLE, 1) for item in items))
        result = decide(ready, state, RULES)
        self.reverts += [item.revert for item in items if item.revert is not None and not self._answered(item)]
        self._apply(result)
        return result

    def _answered(self, item: Decided) -> bool:
        return item.candidate in self.applied or item.origin.control in self.controls

    def _opened(self, item: Decided) -> Decided:
        if item.target is None or item.target not in self.memories:
            return item
        memory, content = self.memories[item.target], self.contents[item.target]
        narrowed = None
        if item.draft.action is Action.NARROW:
            scoped = replace(content, scope=item.draft.content.scope)
            narrowed = identity(KEYS, scoped, memory.type, memory.visibility)
        return replace(item, content=content, narrowed=narrowed)

    def _apply(self, result: Result) -> None:
        for memory in result.memories.values():
            before = self.memories.get(memory.id)
            assert memory.stored == ((before.version, before.count) if before else None)
            kept = copy(memory)
            if memory.content is not None:
                self.contents[memory.id] = memory.content
            kept.content, kept.stored = None, (memory.version, memory.count)
            self.memories[memory.id] = kept
        self.applied |= {support.decided.candidate for support in result.supports}
        self.applied |= {row.decided.candidate for row in result.endings}
        for row in result.endings:
            self.endings.setdefault((HANDLE, row.identity), []).append(row.ending)
        for slot, found in self.endings.items():
            self.endings[slot] = [ending for ending in found if ending.order[3] not in result.unended]
        self.versions += result.versions
        self.controls |= {name: (applied, outcome) for name, applied, outcome in result.controls}
        self._check()

    def _check(self) -> None:
        """What the database would refuse."""
        places = [(memory.identity, memory.digest) for memory in self.memories.values()]
        assert len(places) == len(set(places)), "two memories of one slot and value"
        active = [memory.identity for memory in self.memories.values() if memory.status is MemoryStatus.ACTIVE]
        assert len(active) == len(set(active)), "two active memories of one slot"
        rows = [(row.memory, row.version) for row in self.versions]
        assert len(rows) == len(set(rows)), "a version twice"

    def of(self, value: str) -> Memory:
        """The one memory with a value."""
        found = [memory for memory in self.memories.values() if self.contents[memory.id].value == value]
        assert len(found) == 1, f"{len(found)} memories of {value}"
        return found[0]

    def status(self, value: str) -> str:
        return str(self.of(value).status)

    def active(self) -> set[str]:
        """Values that are recalled."""
        return {
            self.contents[memory.id].value for memory in self.memories.values() if memory.status is MemoryStatus.ACTIVE
        }

    def history(self, memory: Memory) -> list[tuple[int, str, str]]:
        return [(row.version, str(row.status), row.rule) for row in self.versions if row.memory == memory.id]

    def summary(self) -> Sequence[tuple[Any, ...]]:
        """The end state, without ids, versions and what was taken back, which tell of the way there."""
        digests = {memory.id: memory.digest for memory in self.memories.values()}
        return sorted(
            (
                memory.identity,
                memory.digest,
                str(memory.status),
                str(memory.source_type),
                memory.count,
                memory.row,
                memory.confidence,
                digests.get(memory.supersedes or b"", b""),
                memory.valid_from,
                str(memory.valid_to),
                str(memory.expires_at),
            )
            for memory in self.memories.values()
            if memory.evidence
        )
