"""How tests are spread over several workers: `pytest -n N --no-loadscope-reorder`.

A file stays whole, so that its fixtures are made once, and so do files that share the running pipeline. Units are
handed out longest first.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

_TOGETHER = {"test_leaks.py", "test_delete_paths.py", "test_owners_running.py", "test_real_input.py"}
"""Files of the fixture `running`, which is dear to make. One that is missing here costs another stack, no more."""


class Scheduling(LoadScopeScheduling):
    """Work units are files, and the files that belong together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "together" if Path(file).name in _TOGETHER else file


def longest_first(items: list[pytest.Item]) -> None:
    """Order tests by how long their unit may take; within a file nothing moves."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def rank(item: pytest.Item) -> int:
        if item.path.name in _TOGETHER:
            return 0
        if item.path in slow:
            return 1
        return 2 if item.get_closest_marker("integration") else 3

    items.sort(key=rank)
