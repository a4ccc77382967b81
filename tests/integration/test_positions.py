"""Positions, slots and the session on a real PostgreSQL."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from consumers import deadletters, positions, session
from consumers.deadletters import DeadLetter
from consumers.positions import Move
from consumers.session import Session, SlotTaken
from schemas.errors import PartUnavailable, PositionMoved, TransientError, UnknownOutcome
from schemas.settings import Settings
from stores.database import connect
from streams.codec import Position

pytestmark = pytest.mark.integration


@pytest.fixture
def tx(fresh_settings: Settings) -> Any:
    with connect(fresh_settings.database, autocommit=True) as connection:
        positions.logs(connection, {"a": "id-a", "b": "id-b"})
        positions.add(connection, "toy", {(1, 0): 5, (1, 1): 0, (2, 0): 7})
        yield connection


def test_a_log_has_one_number_and_a_new_one_where_it_was_made_anew(tx: Any) -> None:
    assert positions.logs(tx, {"a": "id-a", "b": "id-b"}) == {"a": 1, "b": 2}
    assert positions.logs(tx, {"a": "id-a2", "b": "id-b"}) == {"a": 3, "b": 2}


def test_a_first_position_does_not_replace_one(tx: Any) -> None:
    positions.add(tx, "toy", {(1, 0): 99, (1, 2): 3})
    assert positions.read(tx, "toy", [1]) == {(1, 0): 5, (1, 1): 0, (1, 2): 3}
    assert positions.read(tx, "other", [1]) == {}


def test_all_move_or_none(fresh_settings: Settings, tx: Any) -> None:
    positions.move(tx, "toy", [Move(2, 0, 7, 9), Move(1, 0, 5, 6)])
    with connect(fresh_settings.database) as other, pytest.raises(PositionMoved):
        positions.move(other, "toy", [Move(1, 1, 0, 4), Move(1, 0, 5, 8)])
    assert positions.read(tx, "toy", [1, 2]) == {(1, 0): 6, (1, 1): 0, (2, 0): 9}


def test_the_second_of_two_at_once_sees_that_it_is_late(fresh_settings: Settings, tx: Any) -> None:
    first, second = connect(fresh_settings.database), connect(fresh_settings.database)
    failed: list[BaseException] = []

    def late() -> None:
        try:
            positions.move(second, "toy", [Move(1, 0, 5, 8)])
        except PositionMoved as error:
            failed.append(error)

    positions.move(first, "toy", [Move(1, 0, 5, 6)])
    thread = threading.Thread(target=late)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive(), "it waits for the row"
    first.commit()
    thread.join(5)
    assert failed
    assert positions.read(tx, "toy", [1])[1, 0] == 6
    first.close()
    second.close()


def test_a_dead_letter_is_one_row_a_position(tx: Any) -> None:
    at = Position(1, 0, 5)
    deadletters.add(tx, "toy", [DeadLetter(at, "not_json"), DeadLetter(at, "poisoned")])
    [found] = deadletters.listed(tx)
    assert (found.topic, found.part, found.pos, found.reason, found.state) == ("a", 0, 5, "poisoned", "open")
    deadletters.ask(tx, [found.id])
    assert [one.id for one in deadletters.asked(tx, "toy")] == [found.id]
    assert deadletters.asked(tx, "other") == []
    deadletters.answer(tx, found.id, "redriven")
    assert deadletters.listed(tx) == []
    # The same position again, after a replay.
    deadletters.add(tx, "toy", [DeadLetter(at, "poisoned")])
    assert [one.id for one in deadletters.listed(tx)] == [found.id]


def test_slots_are_the_lowest_free_and_end_with_their_session(fresh_settings: Settings) -> None:
    workers = [Session(fresh_settings.database, "toy") for _ in range(3)]
    other = Session(fresh_settings.database, "gate")
    for worker in (*workers, other):
        worker.open()
    assert [worker.slot for worker in workers] == [0, 1, 2]
    assert other.slot == 0
    workers[1].close()
    again = Session(fresh_settings.database, "toy")
    again.open()
    assert again.slot == 1
    for worker in (*workers, other, again):
        worker.close()


def test_a_slot_is_never_shared(fresh_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_PATIENCE_S", 0.3)
    first, second = (Session(fresh_settings.database, "toy", 4) for _ in range(2))
    first.open()
    with pytest.raises(SlotTaken):
        second.open()
    # A worker whose session was lost must get its own slot again, or end.
    first.close()
    second.open()
    with pytest.raises(SlotTaken), first.transaction():
        pass
    second.close()


def end_sessions(settings: Settings) -> None:
    with connect(settings.database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'obelus toy' AND datname = current_database()"
        )


def test_a_session_that_was_ended_is_a_passing_fault_and_comes_back(fresh_settings: Settings, tx: Any) -> None:
    worker = Session(fresh_settings.database, "toy")
    with worker.transaction() as work:
        positions.move(work, "toy", [Move(1, 0, 5, 6)])
    with pytest.raises(PartUnavailable), worker.transaction() as work:
        positions.move(work, "toy", [Move(1, 0, 6, 7)])
        end_sessions(fresh_settings)
        positions.read(work, "toy", [1])
    assert positions.read(tx, "toy", [1])[1, 0] == 6
    with worker.transaction() as work:
        positions.move(work, "toy", [Move(1, 0, 6, 7)])
    worker.close()


def test_a_commit_without_an_answer_is_an_unknown_outcome(fresh_settings: Settings, tx: Any) -> None:
    worker = Session(fresh_settings.database, "toy")
    with pytest.raises(UnknownOutcome), worker.transaction() as work:
        positions.move(work, "toy", [Move(1, 0, 5, 6)])
        end_sessions(fresh_settings)
    worker.close()


def test_an_exception_undoes_the_transaction_and_keeps_the_session(fresh_settings: Settings, tx: Any) -> None:
    worker = Session(fresh_settings.database, "toy")
    with pytest.raises(KeyError), worker.transaction() as work:
        positions.move(work, "toy", [Move(1, 0, 5, 6)])
        raise KeyError
    with worker.transaction() as work:
        assert positions.read(work, "toy", [1])[1, 0] == 5
    worker.close()


def test_who_sits_in_a_transaction_is_put_out(fresh_settings: Settings, tx: Any) -> None:
    """A stopped process must not keep its successor from the positions."""
    worker = Session(fresh_settings.database, "toy")
    with worker.transaction() as work:
        [(bound,)] = work.execute("SHOW idle_in_transaction_session_timeout").fetchall()
    assert bound == "15s"
    with pytest.raises(PartUnavailable), worker.transaction() as work:
        work.execute("SET LOCAL idle_in_transaction_session_timeout = '100ms'")
        threading.Event().wait(0.4)
        work.execute("SELECT 1")
    worker.close()


def test_a_server_that_is_away_is_a_passing_fault() -> None:
    worker = Session("postgresql://nobody@127.0.0.1:1/none", "toy")
    with pytest.raises(TransientError):
        worker.open()
    assert issubclass(PartUnavailable, TransientError)
    assert psycopg.OperationalError is not None
