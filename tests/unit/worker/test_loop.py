"""What the loop does with each branch of the error tree."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from consumers.contract import Span
from consumers.deadletters import INTERNAL
from consumers.held import Gone
from schemas.errors import (
    ConfigurationError,
    InvalidEvent,
    LostRange,
    PermanentError,
    SubjectMoved,
    TransientError,
)
from tests.unit.worker import doubles
from tests.unit.worker.doubles import Cluster, Rig

CANARY = "the secret text of somebody"


def rig(*texts: str, batch_size: int = 8) -> Rig:
    """One worker that holds partition 0 with these records, and is synchronised."""
    cluster = Cluster()
    cluster.logs[0] = list(texts)
    made = Rig(cluster, batch_size)
    made.assign(0)
    made.turns(2)
    assert made.intake.parts()[0].ready
    return made


def stored(made: Rig) -> list[str]:
    return [text for _, text in made.cluster.tables.rows]


def dead(made: Rig) -> dict[int, str]:
    return {at.pos: reason for at, reason in made.cluster.tables.dead.items()}


def test_a_batch_is_stored_published_committed_and_settled() -> None:
    made = rig("a", "b", "c")
    made.turns(3)
    assert stored(made) == made.cluster.published == made.echo.settled == ["a", "b", "c"]
    assert made.cluster.committed[0] == made.cluster.tables.positions[1, 0] == 3


@pytest.mark.parametrize("place", [0, 3, 7])
def test_only_the_bad_position_becomes_a_dead_letter(place: int) -> None:
    texts = [f"r{number}" for number in range(8)]
    made = rig()
    made.echo.refuse[texts[place]] = InvalidEvent("not_json")
    made.cluster.logs[0] = list(texts)
    made.turns(3)
    assert dead(made) == {place: "not_json"}
    assert stored(made) == [text for text in texts if text != texts[place]]
    assert made.cluster.tables.positions[1, 0] == 8
    # Eight, then halves down to one: never the whole batch again.
    assert len(made.echo.batches[0]) == 8
    assert max(len(batch) for batch in made.echo.batches[1:]) == 4


def test_every_bad_position_of_a_batch_is_found() -> None:
    made = rig()
    made.echo.refuse |= {"x": PermanentError("poisoned"), "y": KeyError(CANARY)}
    made.cluster.logs[0] = ["a", "x", "y", "b", "x", "c"]
    made.turns(3)
    assert dead(made) == {1: "poisoned", 2: INTERNAL, 4: "poisoned"}
    assert stored(made) == ["a", "b", "c"]


def test_a_fault_of_the_program_shows_its_place_and_no_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = rig()
    made.echo.refuse["x"] = KeyError(CANARY)
    made.cluster.logs[0] = ["x"]
    made.turns(3)
    assert "KeyError in prepare" in caplog.text
    assert CANARY not in caplog.text


def test_a_broken_program_ends_instead_of_giving_everything_up() -> None:
    made = rig(batch_size=50)
    made.echo.refuse = {f"r{number}": TypeError(CANARY) for number in range(50)}
    made.cluster.logs[0] = [f"r{number}" for number in range(50)]
    with pytest.raises(TypeError):
        made.turns(3)
    assert len(dead(made)) < 20


def test_a_passing_fault_repeats_the_batch_in_place() -> None:
    made = rig()
    made.cluster.logs[0] = ["a", "b"]
    made.cluster.trouble = {"prepare": "away"}
    made.turns(2)
    assert made.echo.batches == [["a", "b"], ["a", "b"]]
    assert stored(made) == ["a", "b"]
    assert dead(made) == {}


def test_a_moved_subject_prepares_again() -> None:
    made = rig()
    made.cluster.logs[0] = ["a"]
    tries = iter([SubjectMoved(), SubjectMoved(), None])

    def load(tx: Any, ready: Any) -> None:
        if (error := next(tries)) is not None:
            raise error

    made.echo.load = load  # type: ignore[method-assign]
    made.turns(1)
    assert made.echo.batches == [["a"]] * 3
    assert stored(made) == ["a"]


def test_a_batch_loses_what_is_revoked_while_it_waits() -> None:
    cluster = Cluster()
    made = Rig(cluster)
    made.assign(0, 1)
    made.turns(2)
    cluster.logs = {0: ["a", "b"], 1: ["c"]}
    cluster.trouble = {"prepare": "away"}
    taker = Rig(cluster)
    made.consumer.poll(0)  # nothing yet: the end of each partition
    made.consumer.news.clear()
    original = made.intake.hold

    def hold(seconds: float, done: Any) -> None:
        made.consumer.news.append(("on_revoke", [0]))
        original(seconds, done)

    made.intake.hold = hold  # type: ignore[method-assign]
    made.turns(3)
    taker.assign(0)
    taker.turns(4)
    assert sorted(stored(made)) == ["a", "b", "c"]
    assert made.echo.batches[-1] == ["c"]


def test_what_is_lost_while_it_waits_and_comes_back_is_read() -> None:
    """The client keeps a pause over the end of an assignment."""
    made = rig()
    made.cluster.logs[0] = ["a", "b"]
    made.cluster.trouble = {"prepare": "away"}
    made.consumer.poll(0)  # nothing yet: the end of the partition
    made.consumer.news.append(("on_lost", [0]))
    made.turns(1)
    made.assign(0)
    made.turns(4)
    assert stored(made) == ["a", "b"]


def test_what_fails_after_the_commit_is_not_given_up() -> None:
    """A fault in `publish` cannot be a dead letter: the row is stored already."""
    made = rig()
    made.cluster.logs[0] = ["a"]

    def publish(result: Any) -> Any:
        raise KeyError(CANARY)

    made.echo.publish = publish  # type: ignore[method-assign]
    with pytest.raises(KeyError):
        made.turns(2)
    assert dead(made) == {}
    again = Rig(made.cluster)
    again.assign(0)
    again.turns(3)
    assert made.cluster.published == ["a"]
    assert stored(again) == ["a"]


def test_settling_is_tried_in_place_and_then_done() -> None:
    made = rig()
    made.cluster.logs[0] = ["a"]
    made.cluster.trouble = {"settle": "unknown"}
    made.turns(1)
    assert made.echo.settled == ["a"]


def test_settling_ends_where_the_partition_is_no_longer_ours() -> None:
    made = rig()
    made.cluster.logs[0] = ["a"]
    tries = []

    def settle(result: Any) -> None:
        tries.append(1)
        made.consumer.news.append(("on_lost", [0]))
        raise TransientError

    made.echo.settle = settle  # type: ignore[method-assign]
    made.turns(1)
    assert len(tries) == 1


def test_a_stop_during_a_batch_still_settles_it() -> None:
    made = rig()
    made.cluster.logs[0] = ["a"]
    original = made.echo.store

    def store(tx: Any, result: Any) -> None:
        made.stop = True
        original(tx, result)

    made.echo.store = store  # type: ignore[method-assign]
    made.turns(1)
    assert made.echo.settled == made.cluster.published == ["a"]


def test_settling_that_is_refused_for_good_is_left_to_the_tick() -> None:
    made = rig()
    made.cluster.logs[0] = ["a", "b"]

    def settle(result: Any) -> None:
        raise PermanentError("gone")

    made.echo.settle = settle  # type: ignore[method-assign]
    made.turns(2)
    assert made.cluster.committed[0] == 2


@pytest.mark.parametrize("error", [ConfigurationError("a setting"), Gone("fenced")])
def test_what_a_person_or_a_new_process_must_mend_ends_the_loop(error: Exception) -> None:
    made = rig()
    made.cluster.logs[0] = ["a"]
    made.echo.refuse["a"] = error
    with pytest.raises(type(error)):
        made.turns(2)
    assert dead(made) == {}


def test_a_fatal_client_ends_the_loop() -> None:
    made = rig()
    made.cluster.trouble = {"poll": "fatal"}
    with pytest.raises(Gone):
        made.turns(1)


def test_told_to_stop_it_takes_up_nothing_new() -> None:
    made = rig()
    made.cluster.logs[0] = ["a"]
    made.stop = True
    made.worker.run()
    assert stored(made) == []


def test_positions_pass_over_control_records() -> None:
    made = rig()
    made.cluster.logs[0] = ["a", None, None]
    made.turns(4)
    assert made.cluster.tables.positions[1, 0] == 3
    assert made.cluster.committed[0] == 3


def test_a_refused_commit_is_made_again() -> None:
    made = rig()
    made.cluster.logs[0] = ["a", None]
    made.cluster.trouble = {"commit": "lost"}
    made.turns(4)
    assert made.cluster.committed[0] == 2


def test_a_log_of_ours_that_lost_records_is_reconciled() -> None:
    made = rig("a", "b")
    made.turns(2)
    mended: list[Sequence[Span]] = []
    made.cluster.logs[0] += ["c", "d", "e"]
    made.cluster.low[0] = 4
    made.echo.reconcile = lambda tx, lost: mended.append(list(lost))  # type: ignore[method-assign]
    made.consumer.news += [("on_lost", [0]), ("on_assign", [0])]
    made.turns(4)
    assert mended == [[Span(1, 0, 2, 4)]]
    assert stored(made) == ["a", "b", "e"]


def test_an_inbound_log_that_lost_records_stops_and_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubles, "TOPIC", "memory.turns")
    monkeypatch.setattr(doubles.Echo, "topics", ("memory.turns",))
    cluster = Cluster()
    cluster.tables.positions[1, 0] = 2
    cluster.logs[0], cluster.low[0] = ["a"] * 9, 5
    made = Rig(cluster)
    made.assign(0)
    with pytest.raises(LostRange, match=r"memory\.turns/0: offsets 2 to 4"):
        made.turns(3)
    assert cluster.tables.positions[1, 0] == 2


def test_an_error_of_one_partition_is_looked_up_again() -> None:
    made = rig("a", "b", "c")
    made.cluster.trouble = {"poll": "reset"}
    made.turns(1)
    assert not made.intake.parts()[0].ready
    made.turns(2)
    assert stored(made) == ["a", "b", "c"]
