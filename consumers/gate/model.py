"""What the gate knows of a batch before the lock, under the lock, and after it has decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from consumers.deadletters import DeadLetter
from schemas.records import Draft, Verdict
from schemas.words import Consent
from stores.subjects import SubjectRow
from streams.codec import Position


@dataclass(frozen=True, slots=True)
class Waiting:
    """A candidate that was announced: its id and the life of the subject that it belongs to."""

    position: Position
    id: bytes
    handle: bytes
    epoch: int


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch in log order, and the positions that hold no event."""

    items: tuple[Waiting, ...]
    dead_letters: tuple[DeadLetter, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate with its draft opened. ``consent`` is that of its conversation, now."""

    id: bytes
    handle: bytes
    epoch: int
    subject: bytes
    author: bytes
    author_epoch: int
    extractor: str
    consent: Consent
    draft: Draft


@dataclass(frozen=True, slots=True)
class State:
    """What the stores say of a batch, read under the lock.

    Attributes:
        subjects: by the handle that they hold now.
        authors: those who are not the subject, by ref.
        candidates: by id; an erased or expired one is absent.
        decided: candidates that have a decision.
    """

    subjects: Mapping[bytes, SubjectRow]
    authors: Mapping[bytes, SubjectRow]
    candidates: Mapping[bytes, Candidate]
    decided: Set[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and the candidate that it is of."""

    position: Position
    candidate: Candidate
    verdict: Verdict


@dataclass(slots=True)
class Result:
    """What a batch changes."""

    dead_letters: list[DeadLetter] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    decisions: list[Decision] = field(default_factory=list)
    kinds: list[tuple[bytes, str, Position]] = field(default_factory=list)
