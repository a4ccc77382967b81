"""The small parts: faults, backoff, watchdog, tuning, errands."""

from __future__ import annotations

import pytest

from consumers import errands, faults
from consumers.backoff import Backoff
from consumers.errands import Errand
from consumers.faults import Faults
from consumers.tuning import Tuning
from consumers.watchdog import STUCK, Progress, Watchdog
from schemas.errors import ConfigurationError, TransientError


def test_a_fault_is_due_once_at_its_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Faults("in_settle:2,stop@after_pg_commit,purger_block:3")
    sent: list[int] = []
    monkeypatch.setattr(faults.os, "kill", lambda pid, number: sent.append(number))
    for _ in range(4):
        asked.at(faults.IN_SETTLE)
        asked.at(faults.AFTER_PG_COMMIT)
        asked.at(faults.BEFORE_PG_COMMIT)
    assert sent == [faults.signal.SIGSTOP, faults.signal.SIGKILL]


def test_waits_double_up_to_a_cap() -> None:
    patience = Backoff(first=1.0, cap=10.0)
    waits = [patience.next() for _ in range(40)]
    for number, wait in enumerate(waits):
        longest = min(10.0, 2.0 ** min(number, 30))
        assert longest / 2 <= wait <= longest
    patience.reset()
    assert patience.next() <= 1.0


def watchdog() -> tuple[Progress, Watchdog, list[int]]:
    progress, ended = Progress(), list[int]()
    return progress, Watchdog(progress, stuck_after=4, idle_after=8, end=ended.append), ended


def test_a_loop_that_does_not_turn_is_ended() -> None:
    _, dog, ended = watchdog()
    for _ in range(4):
        dog.look()
    assert ended == []
    assert dog.readiness() == (False, "the loop has not turned for 4 s")
    dog.look()
    assert ended == [STUCK]


def test_turning_without_moving_is_ended_only_where_something_waits() -> None:
    progress, dog, ended = watchdog()
    for _ in range(20):
        progress.turn()
        dog.look()
    assert ended == []
    progress.lag = {"memory.turns": 5}
    for _ in range(8):
        progress.turn()
        dog.look()
    assert ended == []
    progress.turn()
    dog.look()
    assert ended == [STUCK]


def test_moving_is_progress() -> None:
    progress, dog, ended = watchdog()
    progress.lag = {"memory.turns": 5}
    for _ in range(30):
        progress.turn()
        progress.moved()
        dog.look()
    assert ended == []
    assert dog.readiness() == (True, "progress")
    progress.trouble = "PartUnavailable"
    assert dog.readiness() == (False, "PartUnavailable")


def test_a_call_that_does_not_come_back_is_ended_before_the_loop_would_be() -> None:
    progress, dog, ended = watchdog()
    for _ in range(20):
        progress.turn()
        with progress.within(2):
            dog.look()
    assert ended == []
    with progress.within(2):
        for _ in range(3):
            progress.turn()
            dog.look()
        assert ended == []
        progress.turn()
        dog.look()
    assert ended == [STUCK]


def test_tuning_reads_whole_numbers() -> None:
    assert Tuning.from_environment({"OBELUS_SLOT": "3", "OBELUS_BATCH": ""}) == Tuning(slot=3)
    with pytest.raises(ConfigurationError, match="OBELUS_BATCH"):
        Tuning.from_environment({"OBELUS_BATCH": "many"})


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(errands, "time", made)
    return made


def test_an_errand_keeps_its_own_clock(clock: Clock) -> None:
    done: list[float] = []
    errand = Errand("e", 2.0, lambda: done.append(clock.now))
    for _ in range(5):
        errand()
        clock.now += 1.0
    assert done == [1000.0, 1002.0, 1004.0]


def test_an_errand_that_fails_waits_longer_and_stops_nobody(clock: Clock) -> None:
    tries: list[float] = []

    def job() -> None:
        tries.append(clock.now)
        raise TransientError

    errand = Errand("e", 1.0, job)
    for _ in range(1000):
        errand()
        clock.now += 0.5
    assert 8 < len(tries) < 40


def test_a_fault_of_the_program_in_an_errand_ends_it_when_it_stays(clock: Clock) -> None:
    def job() -> None:
        raise KeyError("content")

    errand = Errand("e", 0.1, job)
    with pytest.raises(KeyError):
        for _ in range(10_000):
            errand()
            clock.now += 1.0


def test_what_a_person_must_mend_ends_an_errand_at_once(clock: Clock) -> None:
    def job() -> None:
        raise ConfigurationError("a setting")

    with pytest.raises(ConfigurationError):
        Errand("e", 1.0, job)()
