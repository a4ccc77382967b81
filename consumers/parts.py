"""What a worker is put together from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from consumers.contract import BaseConsumer
from consumers.faults import Faults
from consumers.intake import Intake
from consumers.outlet import Outlet
from consumers.session import Session
from consumers.stages import Stages
from consumers.watchdog import Progress


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one worker.

    Attributes:
        consumer: the rules and their SQL.
        intake: the log's reading side.
        session: transactions in PostgreSQL.
        outlet: transactions in Kafka.
        resync: makes held partitions ready.
        errands: does what is due between batches.
        stages: counts and times.
        progress: what the watchdog sees.
        faults: points at which a test kills.
        stopping: whether the process was asked to stop.
        batch_size: most records in a batch.
    """

    consumer: BaseConsumer[Any, Any, Any]
    intake: Intake
    session: Session
    outlet: Outlet
    resync: Callable[[], None]
    errands: Callable[[], None]
    stages: Stages
    progress: Progress
    faults: Faults
    stopping: Callable[[], bool]
    batch_size: int
