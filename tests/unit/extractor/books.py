"""What the tables would hold, for tests of the pure rules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from consumers.extractor.decide import decide
from consumers.extractor.look import live, names_of
from consumers.extractor.model import Heard, Item, Known, Order, Ready, Result, State
from schemas.records import Content, Draft
from schemas.words import Action, Actor, Consent, MemoryType, Polarity, SourceType
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow
from streams.codec import Position

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def named(name: str) -> bytes:
    return name.encode().ljust(16, b"_")


def person(name: str, **changes: object) -> SubjectRow:
    row = SubjectRow(named(name), named("tenant"), 1, named("h" + name), 1, Consent.ON, {}, None, 0)
    return replace(row, **changes)  # type: ignore[arg-type]


def draft(value: str) -> Draft:
    content = Content("preferences", "drink", value, value)
    return Draft(content, MemoryType.PREFERENCE, Polarity.POSITIVE, SourceType.USER_STATED, 0.9, 0.5)


def heard(
    pos: int,
    message: str = "m1",
    text: str = "tea",
    *,
    subject: str = "ann",
    author: str | None = None,
    revision: int = 0,
    conversation: str = "c1",
    part: int = 0,
    at: datetime = NOON,
    drafts: int = 1,
    kinds: tuple[str, ...] = (),
) -> Heard:
    return Heard(
        position=Position(1, part, pos),
        subject=named(subject),
        author=named(author or subject),
        consent=named(conversation),
        tombstone=named("t" + message),
        conversation=conversation,
        message_id=message,
        revision=revision,
        role="user",
        at=at,
        said=text.encode(),
        body=text.encode(),
        kinds=kinds,
        drafts=tuple(draft(f"{text} {n}") for n in range(drafts)),
    )


def order(
    pos: int, action: Action, request: str = "", *, subject: str = "ann", conversation: str | None = None,
    at: datetime = NOON,
) -> Order:  # fmt: skip
    carried = action in (Action.CONFIRM, Action.DECLINE, Action.CORRECT)
    return Order(
        position=Position(1, 0, pos),
        subject=named(subject),
        consent=named(conversation) if conversation else None,
        conversation=conversation,
        request_id=request or f"r{pos}",
        action=action,
        actor=Actor.PERSON,
        at=at + timedelta(seconds=pos),
        body=b"{}",
        draft=replace(draft("x"), action=action) if carried else None,
    )


@dataclass
class Books:
    """Tables by primary key; `take` is one batch."""

    people: dict[bytes, SubjectRow] = field(default_factory=dict)
    turns: dict[bytes, Known] = field(default_factory=dict)
    refused: set[bytes] = field(default_factory=set)
    orders: dict[bytes, str | None] = field(default_factory=dict)
    conversations: dict[tuple[bytes, bytes], Consent] = field(default_factory=dict)
    candidates: dict[bytes, bytes | None] = field(default_factory=dict)
    kinds: set[tuple[bytes, str, Position]] = field(default_factory=set)
    dead: set[tuple[Position, str]] = field(default_factory=set)

    def state(self, *items: Item) -> State:
        keys = {row.handle: SubjectKeys(row.handle, row.handle * 2) for row in self.people.values() if row.handle}
        return State(
            subjects=self.people,
            keys=keys,
            names=names_of(live(items, self.people), self.people, keys),
            conversations=self.conversations,
            known=self.turns,
            refused=self.refused,
            orders=set(self.orders),
        )

    def take(self, *items: Item) -> Result:
        result = decide(Ready(items), self.state(*items))
        assert not result.turns.keys() & self.turns.keys()
        assert not {row.id for row in result.refusals} & self.refused
        assert not result.candidates.keys() & self.candidates.keys()
        self._apply(result)
        return result

    def _apply(self, result: Result) -> None:
        for name in [name for name, turn in self.candidates.items() if turn in result.revised]:
            del self.candidates[name]
        for row in (*result.turns.values(), *result.revised.values()):
            self.turns[row.id] = Known(row.heard.revision, row.digest, row.heard.position)
        self.refused |= {row.id for row in result.refusals}
        self.orders |= {row.id: row.outcome for row in result.orders}
        for ref, consent in result.consents.items():
            self.people[ref] = replace(self.people[ref], consent=consent)
        self.conversations |= result.conversations
        self.candidates |= {name: row.turn for name, row in result.candidates.items()}
        self.kinds |= set(result.kinds)
        self.dead |= {(letter.position, letter.reason) for letter in result.dead_letters}


def books(*people: SubjectRow) -> Books:
    return Books({row.ref: row for row in people or (person("ann"), person("bob"), person("room"))})
