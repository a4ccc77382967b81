"""Named points at which a test makes a process die, stop or lose a transaction.

``OBELUS_FAULT=[stop@]POINT[:N]``, several joined by commas: at the N-th passing (first by default)
the process kills itself with SIGKILL, or stops itself with SIGSTOP; at ``abort_kafka`` the worker
aborts its Kafka transaction after the PostgreSQL commit. Without the variable a point costs one
look into an empty dictionary.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

BEFORE_PG_COMMIT = "before_pg_commit"
AFTER_PG_COMMIT = "after_pg_commit"
BEFORE_KAFKA_COMMIT = "before_kafka_commit"
AFTER_KAFKA_COMMIT = "after_kafka_commit"
IN_SETTLE = "in_settle"
ABORT_KAFKA = "abort_kafka"
POINTS = (
    BEFORE_PG_COMMIT,
    AFTER_PG_COMMIT,
    BEFORE_KAFKA_COMMIT,
    AFTER_KAFKA_COMMIT,
    IN_SETTLE,
    ABORT_KAFKA,
)
SAGA = "purger_"
"""The purger's steps are points too: this and the step's name."""
_STOP = "stop@"


class Faults:
    """Counts passings of each point and acts on the one that was asked for."""

    def __init__(self, wanted: str = "") -> None:
        """Read ``[stop@]POINT[:N],…``; points of a consumer's own are left to it."""
        self._left: dict[str, int] = {}
        self._signals: dict[str, int] = {}
        for item in filter(None, wanted.split(",")):
            name, _, count = item.removeprefix(_STOP).partition(":")
            if name not in POINTS and not name.startswith(SAGA):
                raise ValueError(f"OBELUS_FAULT: no point {name!r}, there are {', '.join(POINTS)}")
            self._left[name] = int(count or 1)
            self._signals[name] = signal.SIGSTOP if item.startswith(_STOP) else signal.SIGKILL

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Faults:
        """Read the variable."""
        return cls(environment.get("OBELUS_FAULT", ""))

    def due(self, point: str) -> bool:
        """Count a passing; True at the one asked for, and only then."""
        if point not in self._left:
            return False
        self._left[point] -= 1
        return self._left[point] == 0

    def at(self, point: str) -> None:
        """Pass a point; the process may not come back, or not for a while."""
        if self.due(point):
            os.kill(os.getpid(), self._signals[point])
