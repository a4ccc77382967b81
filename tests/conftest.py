"""Fixtures for everybody.

`stack`: the embedded parts, one set a session. `running`: parts and every consumer, by `obelus up`,
once a session; tests that share it use tenants of their own. `settings`: a database, Redis number, vault and
keys of its own for each test module, migrated. `topics`: every topic deleted and made anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from schemas.settings import Settings
from tests import running as whole
from tests import spread
from tests import stack as embedded

# The same examples in every run, however busy the machine is.
hypothesis_settings.register_profile(
    "obelus", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("obelus")


@pytest.fixture(scope="session")
def stack() -> Iterator[embedded.Stack]:
    with embedded.short_home() as home, embedded.running(home) as running:
        yield running


@pytest.fixture(scope="session")
def running() -> Iterator[whole.Pipeline]:
    with whole.running() as pipeline:
        yield pipeline


@pytest.fixture(scope="session")
def migrated(stack: embedded.Stack) -> str:
    """The name of a migrated database that others are copied from."""
    from stores.migrate import migrate

    template = stack.with_database()
    migrate(template.database)
    return template.database.rpartition("/")[2]


@pytest.fixture(scope="module")
def empty(stack: embedded.Stack) -> None:
    """Nothing is left of other modules: they may have run in any order, or not at all."""
    stack.empty()


@pytest.fixture(scope="module")
def settings(stack: embedded.Stack, migrated: str, empty: None) -> Settings:
    return stack.fresh(template=migrated)


@pytest.fixture
def fresh_settings(stack: embedded.Stack, migrated: str, empty: None) -> Settings:
    """As `settings`, for one test alone."""
    return stack.fresh(template=migrated)


@pytest.fixture
def topics(stack: embedded.Stack) -> None:
    """Every topic of ours, empty."""
    from streams.topics import apply

    embedded.delete_topics(stack.settings)
    apply(stack.settings)


def _is_worker(config: pytest.Config) -> bool:
    """Whether this process is one of several that run tests."""
    return hasattr(config, "workerinput")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> spread.Scheduling:
    """Hand out files, and files that belong together."""
    return spread.Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several workers the longest goes first."""
    if _is_worker(config):
        spread.longest_first(items)


_ENDED = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember how the session ended."""
    session.config.stash[_ENDED] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End here, with the session's status.

    Fixtures are torn down and everything is reported by now. What is left to the interpreter are native clients
    that hundreds of tests have used in threads, and the order in which it frees them has ended it with a
    segmentation fault after all tests had passed.
    """
    if _ENDED in config.stash:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[_ENDED])
