from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as some

from schemas.words import Action, Consent
from stores.windows import TURNS, WindowTurn, merged
from streams.codec import Position
from streams.sessions.consent import Words
from streams.sessions.heard import Heard, Ordered

AT = datetime(2026, 1, 1, tzinfo=UTC)


def turn(number: int, revision: int = 0, name: int | None = None) -> WindowTurn:
    return WindowTurn(str(number if name is None else name), revision, "user", f"{number}.{revision}", "", 1, 0, number)


@given(some.permutations([turn(n) for n in range(25)]), some.integers(1, 24))
def test_a_window_is_the_last_ten_in_whatever_order_and_however_often(turns: list[WindowTurn], cut: int) -> None:
    once = merged(turns[:cut])
    assert merged(merged(once, turns[cut:]), turns) == tuple(turn(n) for n in range(25 - TURNS, 25))


def test_the_highest_revision_counts_and_a_repeat_is_the_first() -> None:
    assert merged([turn(1), turn(2)], [turn(3, 1, name=1)]) == (turn(2), turn(3, 1, name=1))
    assert merged([turn(1)], [turn(5, name=1)]) == (turn(1),)
    assert merged([turn(5, name=1)], [turn(1)]) == (turn(1),)


def heard(pos: int, conversation: str = "c") -> Heard:
    return Heard(Position(1, 0, pos), "t", "ana", "ana", conversation, str(pos), 0, "user", "", AT)


def word(pos: int, action: Action, conversation: str | None = None) -> Ordered:
    return Ordered(Position(1, 0, pos), "t", "ana", conversation, action)


def test_consent_is_as_it_stood_at_the_place_in_the_log() -> None:
    words = Words()
    words.add(word(10, Action.PAUSE))
    words.add(word(10, Action.PAUSE))
    words.add(word(20, Action.RESUME))
    on = Consent.ON
    assert [words.permits(heard(pos), on, on) for pos in (5, 15, 25)] == [True, False, True]
    # Once the extractor is there its rows tell, and the words are forgotten.
    words.forget_applied(1, {0: 11})
    assert words.permits(heard(15), Consent.PAUSED, on) is False
    assert words.permits(heard(25), Consent.PAUSED, on) is True
    assert words.permits(heard(25), Consent.OFF, on) is False
    words.forget_applied(1, {0: 21})
    assert words.permits(heard(15), on, on) is True


def test_a_paused_conversation_leaves_the_others() -> None:
    words = Words()
    words.add(word(10, Action.OFF, "c"))
    assert words.permits(heard(15, "c"), Consent.ON, Consent.ON) is False
    assert words.permits(heard(15, "d"), Consent.ON, Consent.ON) is True
