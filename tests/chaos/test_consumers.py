"""Each consumer killed, stopped and robbed of a transaction on the whole pipeline: what is left is always the same.

The last drill kills each writer while it waits for a Block that runs (the purger itself: `test_purger_kill`).
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from consumers import faults
from schemas.settings import Settings
from stores.database import connect
from streams.producer import publish
from tests.chaos import talk
from tests.chaos.crew import Crew
from tests.chaos.harness import UNDISTURBED, Case, Process, cases, obelus_run, play, until
from tests.chaos.pipeline import NAMES, Pipeline, empty, state
from tests.stack import Stack

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.slow]

_FIRST = frozenset({faults.BEFORE_PG_COMMIT, faults.AFTER_PG_COMMIT, faults.AFTER_KAFKA_COMMIT, faults.IN_SETTLE})
_BEFORE = {"extractor": (), "gate": ("extractor",), "resolver": ("extractor", "gate"), "indexer": NAMES[:3]}
"""Who must be through before a writer has something to write."""
_WAITS = """
SELECT 1 FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE %s AND wait_event_type = 'Lock'
"""
_SEED, _SAMPLE = 20261131, 4


def _of(name: str) -> list[Case]:
    """The cases of one consumer, at the passing at which there is work to lose."""
    # The indexer tells the log nothing.
    found = cases(publishes=name != "indexer")
    if name != "purger":
        return list(found)
    # One request is one batch; the Kafka points are first passed by resynchronising, then by what a Block says.
    return [replace(case, nth=1 if case.point in _FIRST else 2) for case in found]


TABLE = [(name, case) for name in NAMES for case in _of(name)]


def _sampled() -> set[int]:
    """A few, drawn by the seed: different consumers, different points, one of them a zombie."""
    chance = random.Random(_SEED)
    drawn: list[int] = []
    for at in chance.sample(range(len(TABLE)), len(TABLE)):
        name, case = TABLE[at]
        others = [TABLE[one] for one in drawn]
        alike = any(name == other or case.point == known.point for other, known in others)
        zombies = [known for _, known in others if known.kind == "zombie"]
        if len(drawn) < _SAMPLE and not alike and not (case.kind == "zombie" and zombies):
            drawn.append(at)
    return set(drawn)


_SAMPLED = _sampled()


def run(name: str, case: Case, settings: Settings) -> dict[str, Any]:
    empty(settings)
    with Crew(settings, [other for other in NAMES if other != name]):
        found: dict[str, Any] = play(case, Pipeline(name, settings), settings)
        return found


@pytest.fixture(scope="module")
def expected(stack: Stack, migrated: str) -> dict[str, Any]:
    """The state that an undisturbed run leaves."""
    return run("gate", UNDISTURBED, stack.fresh(template=migrated))


def test_an_undisturbed_run_is_worth_comparing_with(expected: dict[str, Any]) -> None:
    assert expected["index"] >= 15
    assert [count for (count,), _ in expected["active"]] and expected["found"]
    assert expected["drift"] == expected["strays"] == expected["dead"] == []
    assert expected["unannounced"] == 0
    assert expected["gone"] == {"state": "erased", "epoch": 2, "left": 0}
    assert expected["receipt"] == {
        "erasures": 1,
        "verified": True,
        "missing": [],
        "unpublished": 0,
        "left": [],
        "unproven": [],
    }


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case}", marks=[pytest.mark.sample] if at in _SAMPLED else [])
        for at, (name, case) in enumerate(TABLE)
    ],
)
def test_leaves_what_an_undisturbed_run_leaves(
    name: str, case: Case, fresh_settings: Settings, expected: dict[str, Any]
) -> None:
    assert run(name, case, fresh_settings) == expected


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _BEFORE)
def test_killed_while_a_block_runs(name: str, fresh_settings: Settings, expected: dict[str, Any]) -> None:
    settings = fresh_settings
    empty(settings)
    scenario = Pipeline(name, settings)
    with Crew(settings, [other for other in NAMES if other not in (name, "purger")]):
        publish(settings, talk.conversation())
        until(lambda: scenario.idle(settings, names=_BEFORE[name]), 60, lambda: scenario.explain(settings))
        # Inside Block's transaction: the vault has the fence, PostgreSQL has not, and the subject's lock is held.
        with Process(obelus_run("purger"), settings, fault="stop@purger_vault_blocked") as purger:
            publish(settings, [talk.deletion()])
            until(purger.stopped, 60, lambda: f"a Block runs: {purger.text[-2000:]}")
            with Process(obelus_run(name), settings) as writer:
                until(lambda: _waits(settings, name), 60, lambda: f"it waits for the lock: {writer.text[-2000:]}")
                writer.kill()
            purger.resume()
            with Process(obelus_run(name), settings) as successor:
                until(lambda: scenario.settled(settings), 90, lambda: scenario.explain(settings))
                assert successor.terminate() == 0
            assert purger.terminate() == 0
        assert state(settings) == expected


def _waits(settings: Settings, name: str) -> bool:
    with connect(settings.database, autocommit=True) as connection:
        return connection.execute(_WAITS, (f"obelus {name}%",)).fetchone() is not None
