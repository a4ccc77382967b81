"""Turns for the same people at full speed while they are erased again and again: nothing of an old life is left."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from consumers.indexer.sweep import drift
from consumers.purger.registry import Parts
from consumers.purger.sweep import strays
from policy.verification import load_keys, verify
from schemas.events import Deletion, Selector, Turn
from schemas.settings import Settings
from schemas.topics import DELETIONS, TURNS
from schemas.words import Role, SelectorKind
from stores.database import connect
from stores.signing import public_keys_file
from stores.vectors import VectorIndex
from streams import offsets
from streams.codec import message
from streams.producer import Publisher
from streams.topics import admin_client
from tests.chaos.harness import consumers, until

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.slow]

PEOPLE = [f"p{n}" for n in range(5)]
NAMES = ("extractor", "gate", "resolver", "indexer", "purger")
DRINKS = ("tea", "coffee", "cocoa", "cider", "mate", "water")


class Talk:
    """Publishes for everybody without a pause until it is stopped."""

    def __init__(self, settings: Settings) -> None:
        self.count = 0
        self._publisher = Publisher(settings)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Talk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._publisher.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._publisher.send([self._turn(subject) for subject in PEOPLE for _ in range(4)])
            time.sleep(0.02)

    def _turn(self, subject: str):
        self.count += 1
        number = self.count
        event = Turn(
            tenant="t1",
            subject=subject,
            conversation=f"c{number % 7}",
            message_id=f"m{number}",
            role=Role.USER,
            text=f"I like {DRINKS[number % 6]} number {number}.",
            at=datetime.now(UTC),
        )
        return message(TURNS, f"t1:{subject}", event, f"m{number}")


def order(publisher: Publisher, number: int) -> None:
    subject = PEOPLE[number % len(PEOPLE)]
    event = Deletion(
        request_id=f"r{number}",
        tenant="t1",
        requested_by="officer",
        selector=Selector(kind=SelectorKind.SUBJECT, subject=subject),
    )
    publisher.send([message(DELETIONS, f"t1:{subject}", event, f"r{number}")])


def count(settings: Settings, query: str) -> int:
    with connect(settings.database, autocommit=True) as connection:
        return connection.execute(query).fetchone()[0]


def caught_up(settings: Settings) -> bool:
    with connect(settings.database, autocommit=True) as connection:
        lag = offsets.lag(admin_client(settings), connection)
    return not any(behind for topics in lag.values() for behind in topics.values())


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("purges", [pytest.param(25, marks=pytest.mark.sample), 200])
def test_nothing_of_an_old_life_is_left(purges: int, fresh_settings: Settings, topics: None) -> None:
    settings = fresh_settings
    with closing(VectorIndex(settings)) as index:
        index.drop()  # the session's parts are shared, and points of another test are no current ones here
    with consumers(settings, NAMES) as running:
        for name, process in running.items():
            until(lambda p=process: "resynchronised" in p.text, 60, name)
        publisher = Publisher(settings)
        with Talk(settings) as talk:
            until(lambda: count(settings, "SELECT count(*) FROM memories") > 20, 60, "it is learning")
            for number in range(purges):
                order(publisher, number)
                time.sleep(0.1)
        publisher.close()
        done = f"SELECT count(*) = {purges} FROM erasures WHERE state IN ('verified', 'final')"
        until(lambda: count(settings, done), 240, "every erasure is through")
        until(lambda: caught_up(settings), 240, "the pipeline is through")
        until(lambda: not count(settings, "SELECT count(*) FROM vectors WHERE state <> 'written'"), 60, "index")
        assert all(process.alive() for process in running.values())
    parts = Parts.open(settings)
    try:
        assert [stray for stray in strays(parts) if stray.entry != "vault.keys"] == []
        live = count(settings, "SELECT count(*) FROM subjects WHERE handle IS NOT NULL")
        assert len(list(parts.vault.handles())) == live
    finally:
        parts.close()
    assert drift(settings) == []
    assert count(settings, "SELECT max(epoch) FROM subjects") == purges // len(PEOPLE) + 1
    assert talk.count > purges
    check_chain(settings, purges)


def check_chain(settings: Settings, purges: int) -> None:
    with connect(settings.database, autocommit=True) as connection:
        rows = connection.execute("SELECT envelope FROM receipts ORDER BY seq").fetchall()
    chain = [row[0] for row in rows]
    assert len(chain) >= purges
    assert verify(chain[-1], load_keys(public_keys_file(settings).read_bytes()), chain=chain).valid
