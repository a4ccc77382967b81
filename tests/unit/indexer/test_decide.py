"""What a hint means, in every state that the stores can be in."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from consumers.indexer.decide import decide
from consumers.indexer.model import INTENT, REMOVING, WRITTEN, Embedded, Entry, Hint, Memory, Ready, State
from schemas.errors import SubjectMoved
from schemas.words import Consent, MemoryType, Sensitivity, Visibility
from stores.subjects import SubjectRow

M, H, T = b"m" * 16, b"h" * 16, b"t" * 16
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def subject(epoch: int = 1) -> dict[bytes, SubjectRow]:
    return {H: SubjectRow(b"r" * 16, T, 1, H, epoch, Consent.ON, {}, None, 0)}


def memory(version: int = 2, active: bool = True, indexed: int | None = None, epoch: int = 1) -> Memory:
    words = (MemoryType.FACT, Sensitivity.NONE, Visibility.PRIVATE)
    return Memory(M, H, epoch, version, active, T, (), *words, None, indexed, NOW)


def entry(version: int, state: str = WRITTEN) -> Entry:
    return Entry(f"p{version}".encode(), M, version, H, 1, state)


def embedded(version: int = 2) -> dict[bytes, Embedded]:
    return {M: Embedded(version, f"p{version}".encode(), np.zeros(4, np.float32))}


@pytest.mark.parametrize(
    ("row", "ledger", "outcome", "written", "removed"),
    [
        (memory(), [], "indexed", [2], []),
        (memory(), [entry(1)], "indexed", [2], [1]),
        (memory(), [entry(2, INTENT)], "indexed", [2], []),
        (memory(), [entry(2)], "indexed", [2], []),
        (memory(indexed=2), [entry(2)], "current", [], []),
        (memory(indexed=2), [entry(2), entry(1, REMOVING)], "current", [], [1]),
        (memory(indexed=2), [entry(2, REMOVING)], "indexed", [2], []),
        (memory(indexed=2), [], "indexed", [2], []),
        (memory(active=False), [entry(1), entry(2, INTENT)], "removed", [], [1, 2]),
        (memory(active=False), [], "none", [], []),
        (None, [entry(2)], "removed", [], [2]),
        (None, [], "none", [], []),
    ],
)
def test_current_versions_and_no_others(
    row: Memory | None, ledger: list[Entry], outcome: str, written: list[int], removed: list[int]
) -> None:
    state = State(subject(), {M: row} if row else {}, {M: ledger})
    result = decide(Ready([Hint(M, H)], embedded()), state)
    assert result.counts == {outcome: 1}
    assert [write.point.version for write in result.writes] == written
    assert [gone.version for gone in result.removals] == removed


@pytest.mark.parametrize("subjects", [{}, subject(epoch=2)], ids=["blocked", "a later life"])
@pytest.mark.parametrize("active", [True, False])
def test_points_of_an_ended_epoch_are_the_purgers(subjects: dict[bytes, SubjectRow], active: bool) -> None:
    state = State(subjects, {M: memory(active=active)}, {M: [entry(1)]})
    result = decide(Ready([Hint(M, H)], embedded()), state)
    assert result.counts == {"erased_source": 1}
    assert (result.writes, result.removals) == ([], [])


@pytest.mark.parametrize("made", [{}, embedded(1)], ids=["not embedded", "another version embedded"])
def test_a_version_that_was_not_embedded_is_prepared_again(made: dict[bytes, Embedded]) -> None:
    with pytest.raises(SubjectMoved):
        decide(Ready([Hint(M, H)], made), State(subject(), {M: memory()}, {}))


def test_hints_of_one_memory_count_once_and_those_of_a_handle_do_nothing() -> None:
    state = State(subject(), {M: memory()}, {})
    result = decide(Ready([Hint(M, H), Hint(None, H), Hint(M, H)], embedded()), state)
    assert result.counts == {"indexed": 1, "none": 1, "duplicate": 1}
    assert len(result.writes) == 1
