"""Who holds a log back, and in what words a receipt says so."""

from __future__ import annotations

from streams.cutter import reason_of, told
from streams.holders import Holder, Kind, limit

AT = ("memory.turns", 0)
READER = Holder(Kind.READER, "obelus-extractor", {AT: 9})
IDLE = Holder(Kind.IDLE_GROUP, "old", {AT: 4})
LETTER = Holder(Kind.DEAD_LETTER, "", {AT: 6})


def test_the_least_counts() -> None:
    assert limit([READER, IDLE, LETTER], AT, 20) == 4
    assert limit([READER], ("memory.turns", 1), 20) == 20


def test_a_live_reader_is_no_reason() -> None:
    assert reason_of([READER]) is None
    assert told([READER]) == "held back by reader on its way obelus-extractor"
    assert told([]) == "about to be cut"


def test_idle_groups_are_named_and_a_dead_letter_comes_first() -> None:
    assert reason_of([IDLE, READER, LETTER]) == "open_dead_letter"
    assert told([IDLE, LETTER]) == "held back by an open dead letter, idle group old"
    assert reason_of([IDLE]) == "idle_group"
