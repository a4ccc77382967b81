"""What a slot holds, given all evidence of its memories: the rules of conflict (C3 to C8, B4, B5, D1, D11). Pure.

Evidence is replayed in the event log's order. What each kind of it does to its memory:

    kind        meets                               becomes
    accept      nothing active                      active
                the same memory, active             stays; its authority may rise (C2)
                another, weaker                     active; the other superseded (C3)
                another, stronger                   pending: a weaker word never overwrites (C6)
                another, equal: the person's own    active; the other superseded: newer counts (C4)
                another, equal: not the person's    the more confident one, then the newer one
                another, equal in trust, otherwise  both conflicted, the person is asked (C7)
    pend        nothing known of this memory        pending; enough independent conversations: as accept (P5)
    confirm     nothing, pending, out of use        suggested
    quarantine  nothing known of this memory        quarantined, whatever is repeated
    affirm      anything                            active, others superseded: the person decided
    decline     anything live                       revoked; only the person's own later word brings it back
    disable     anything live                       revoked, likewise
    move        anything live                       superseded by the narrower memory
    ending      a live memory of its value          revoked

A stated change of mind counts as affirm does. The clock comes last: what is past its time is expired, and it never
makes anything active.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from consumers.settling.evidence import Ending, Evidence, Kind, essential
from policy.document import Policy
from schemas.words import MemoryStatus, MemoryType, SourceType

Interval = tuple[datetime, datetime | None]

_S = MemoryStatus
_LIVE = frozenset({_S.ACTIVE, _S.CONFLICTED, _S.SUGGESTED, _S.PENDING, _S.QUARANTINED})
_QUIET = frozenset({None, _S.PENDING, _S.QUARANTINED, _S.SUPERSEDED})
# Of the state of the world a tool's reading is no worse than what the person said in passing (D11).
_EQUAL_TRUST = frozenset({SourceType.USER_STATED, SourceType.TOOL_VERIFIED})
_OUT_OF_USE = {Kind.DECLINE: "declined", Kind.DISABLE: "disabled"}


@dataclass(frozen=True, slots=True)
class Rules:
    """What policy says of conflicts.

    Attributes:
        authority: rank of each source type, higher is stronger (C3).
        promote_after: independent pieces of evidence that promote a pending memory (P5).
        waits: how long a memory in a status waits for an answer or more evidence.
    """

    authority: dict[SourceType, int]
    promote_after: int
    waits: dict[MemoryStatus, timedelta]

    @classmethod
    def of(cls, policy: Policy) -> Rules:
        """Return what a policy says of conflicts."""
        retention = policy.retention
        return cls(
            authority={source: policy.rank_of(source) for source in SourceType},
            promote_after=policy.confidence.promote_after,
            waits={
                MemoryStatus.SUGGESTED: timedelta(days=retention.suggestion_days),
                MemoryStatus.PENDING: timedelta(days=retention.pending_days),
                MemoryStatus.QUARANTINED: timedelta(days=retention.quarantine_days),
            },
        )


@dataclass(slots=True)
class Standing:
    """Where one memory of a slot stands.

    Attributes:
        status: None only before its first evidence.
        rule: the rule that brought it there.
        supersedes: index, within the slot, of the memory that it took over from.
        intervals: when it was held to be so; the last one may be open (C13).
        expires_at: when it ends or its wait does.
    """

    status: MemoryStatus | None = None
    rule: str = ""
    supersedes: int | None = None
    intervals: list[Interval] = field(default_factory=list)
    expires_at: datetime | None = None
    rank: int = 0
    confidence: float = 0.0
    source_type: SourceType = SourceType.EXTERNAL
    heard: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Told:
    """All that is known of one memory of a slot: its digest, type and evidence that still counts."""

    digest: bytes
    type: MemoryType
    evidence: Sequence[Evidence]


def settle(memories: Sequence[Told], endings: Sequence[Ending], rules: Rules, now: datetime) -> list[Standing]:
    """Return where every memory of a slot stands, in the order given."""
    slot = _Slot(memories, rules)
    kept = [essential(memory.evidence) for memory in memories]
    steps: list[tuple[Evidence | Ending, int]] = [(item, index) for index, items in enumerate(kept) for item in items]
    steps += [(ending, -1) for ending in endings]
    if len(steps) > 1:
        steps.sort(key=_order)
    for step, index in steps:
        if isinstance(step, Ending):
            slot.end(step)
        else:
            slot.take(index, step)
    for standing, items in zip(slot.standings, kept, strict=True):
        _limit(standing, items, rules, now)
    return slot.standings


def _order(step: tuple[Evidence | Ending, int]) -> tuple[object, int]:
    return step[0].order, step[1]


class _Slot:
    """One replay. ``holders`` is the active memory, or those of a conflict."""

    __slots__ = ("_holders", "_memories", "_rules", "standings")

    def __init__(self, memories: Sequence[Told], rules: Rules) -> None:
        self._memories = memories
        self._rules = rules
        self._holders: list[int] = []
        self.standings = [Standing() for _ in memories]

    def take(self, index: int, item: Evidence) -> None:
        _TAKE[item.kind](self, index, item)

    def accept(self, index: int, item: Evidence) -> None:
        mine = self.standings[index]
        if mine.status is _S.REVOKED and not item.own:
            return
        rivals = [other for other in self._holders if other != index]
        verdicts = [self._compare(index, item, other) for other in rivals]
        if _LOSES in verdicts:
            if index not in self._holders:
                self._set(index, _S.PENDING, "weaker")
            return
        held = index in self._holders
        clashing = [other for other, verdict in zip(rivals, verdicts, strict=True) if verdict == _CLASHES]
        for other in rivals:
            if other not in clashing:
                self._leave(other, _S.SUPERSEDED, "superseded", item.holds_from)
                self._link(index, other)
        self._strengthen(mine, item, fresh=not held)
        self._holders = [*clashing, index]
        if clashing:
            for other in self._holders:
                self._set(other, _S.CONFLICTED, "conflict")
        else:
            self._set(index, _S.ACTIVE, _RULES.get(item.kind, "accepted"))
        if not held:
            mine.intervals.append((item.holds_from, None))

    def pend(self, index: int, item: Evidence) -> None:
        mine = self.standings[index]
        mine.heard.add(item.conversation or item.candidate)
        if mine.status is _S.REVOKED:
            return
        if len(mine.heard) >= self._rules.promote_after and mine.status is not _S.SUGGESTED:
            self.accept(index, item)
        elif mine.status in _QUIET:
            self._set(index, _S.PENDING, "pended")

    def suggest(self, index: int, _: Evidence) -> None:
        if self.standings[index].status in _QUIET:
            self._set(index, _S.SUGGESTED, "suggested")

    def quarantine(self, index: int, _: Evidence) -> None:
        if self.standings[index].status is None:
            self._set(index, _S.QUARANTINED, "quarantined")

    def put_out(self, index: int, item: Evidence) -> None:
        if self.standings[index].status in _LIVE:
            self._leave(index, _S.REVOKED, _OUT_OF_USE[item.kind], item.at)

    def move(self, index: int, item: Evidence) -> None:
        if self.standings[index].status in _LIVE:
            self._leave(index, _S.SUPERSEDED, "narrowed", item.at)

    def end(self, ending: Ending) -> None:
        for index, memory in enumerate(self._memories):
            named = ending.digests is None or memory.digest in ending.digests
            if named and self.standings[index].status in _LIVE:
                self._leave(index, _S.REVOKED, "ended", ending.at)

    def _compare(self, index: int, item: Evidence, other: int) -> str:
        theirs = self.standings[other]
        if item.decisive or _past(theirs.expires_at, item.decided_at):
            return _WINS
        types = {self._memories[index].type, self._memories[other].type}
        if {item.source_type, theirs.source_type} == _EQUAL_TRUST and types == {MemoryType.FACT}:
            return _CLASHES
        rank = self._rules.authority[item.source_type]
        if rank != theirs.rank:
            return _WINS if rank > theirs.rank else _LOSES
        return _WINS if item.own or item.confidence >= theirs.confidence else _LOSES

    def _link(self, index: int, other: int) -> None:
        """Remember who took over from whom; one that comes back leaves its old place in the chain."""
        mine = self.standings[index]
        for standing in self.standings:
            if standing.supersedes == index:
                standing.supersedes = mine.supersedes
        mine.supersedes = other

    def _strengthen(self, mine: Standing, item: Evidence, *, fresh: bool) -> None:
        mine.expires_at = item.expires_at
        rank = self._rules.authority[item.source_type]
        if fresh or rank > mine.rank:
            mine.rank, mine.source_type, mine.confidence = rank, item.source_type, item.confidence
        elif rank == mine.rank:
            mine.confidence = max(mine.confidence, item.confidence)

    def _leave(self, index: int, status: MemoryStatus, rule: str, at: datetime) -> None:
        """Put a memory out of use; a conflict that loses a side may be decided by that."""
        mine = self.standings[index]
        self._set(index, status, rule)
        if index not in self._holders:
            return
        self._holders.remove(index)
        start, _ = mine.intervals[-1]
        mine.intervals[-1] = (start, max(start, at))
        if len(self._holders) == 1 and self.standings[self._holders[0]].status is _S.CONFLICTED:
            self._set(self._holders[0], _S.ACTIVE, "undisputed")

    def _set(self, index: int, status: MemoryStatus, rule: str) -> None:
        mine = self.standings[index]
        if mine.status is not status:
            mine.status, mine.rule = status, rule


_WINS, _LOSES, _CLASHES = "wins", "loses", "clashes"
_RULES = {Kind.PEND: "promoted", Kind.AFFIRM: "affirmed"}
_TAKE: dict[Kind, Callable[[_Slot, int, Evidence], None]] = {
    Kind.ACCEPT: _Slot.accept,
    Kind.AFFIRM: _Slot.accept,
    Kind.PEND: _Slot.pend,
    Kind.CONFIRM: _Slot.suggest,
    Kind.QUARANTINE: _Slot.quarantine,
    Kind.DECLINE: _Slot.put_out,
    Kind.DISABLE: _Slot.put_out,
    Kind.MOVE: _Slot.move,
}


def _limit(standing: Standing, evidence: Sequence[Evidence], rules: Rules, now: datetime) -> None:
    """Say until when a memory may stand, and let the clock refuse it (C12)."""
    if standing.status is None:
        # Nothing is left that speaks for it.
        standing.status, standing.rule = _S.REVOKED, "reverted"
        return
    asserting = [item for item in evidence if item.kind.asserts]
    if standing.status in rules.waits and asserting:
        wait = asserting[-1].decided_at + rules.waits[standing.status]
        stated = asserting[-1].expires_at
        standing.expires_at = wait if stated is None else min(stated, wait)
    if standing.status in _LIVE and _past(standing.expires_at, now):
        standing.status, standing.rule = _S.EXPIRED, "expired"


def _past(end: datetime | None, moment: datetime) -> bool:
    return end is not None and end <= moment
