"""A worker as a process: its parts, signals, health, and what its exit status says.

0   asked to stop
70  a fault of the program
75  no progress, or the Kafka client is of no further use: start it again
78  a person must act: a setting is wrong, or a log has lost what was not read
"""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from confluent_kafka import Consumer

from consumers.backoff import Backoff
from consumers.contract import BaseConsumer
from consumers.errands import Errands
from consumers.faults import Faults
from consumers.held import Gone
from consumers.intake import Intake, consumer_config
from consumers.outlet import Outlet
from consumers.parts import Parts
from consumers.redrive import Redrive
from consumers.resync import Resync
from consumers.session import Session
from consumers.stages import Stages
from consumers.tuning import Tuning
from consumers.watchdog import STUCK, Progress, Watchdog
from schemas.errors import ConfigurationError, TransientError
from schemas.settings import Settings
from streams.client import Admin
from streams.metrics import serve
from streams.producer import transactional
from streams.reading import Reader
from streams.topics import require_ids

logger = logging.getLogger(__name__)

STOPPED, FAULT, AGAIN, PERSON = 0, 70, STUCK, 78

Loop = Callable[[Parts], None]


def run(consumer: BaseConsumer[Any, Any, Any], settings: Settings, loop: Loop) -> int:
    """Run a loop over the real parts until SIGTERM or SIGINT; give the exit status."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format=f"%(asctime)s {consumer.name} %(levelname)s %(message)s",
    )
    # Batches make many objects and hardly a cycle: by default the collector takes a fifth of a batch's time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        _run(consumer, settings, loop, stop)
    except ConfigurationError as error:
        logger.critical("%s", error)
        return PERSON
    except Gone as error:
        logger.critical("the Kafka client is gone: %s", error)
        return AGAIN
    except Exception as error:
        logger.critical("fault of the program: %s", whereabouts(error))
        return FAULT
    logger.info("stopped")
    return STOPPED


def _run(consumer: BaseConsumer[Any, Any, Any], settings: Settings, loop: Loop, stop: threading.Event) -> None:
    tuning, progress = Tuning.from_environment(), Progress()
    watchdog = Watchdog(progress, tuning.stuck_seconds, tuning.still_seconds)
    health = serve(settings.health_port, watchdog.readiness)
    logger.info("health on port %d", health.server_port)
    with ExitStack() as closing:
        closing.callback(health.shutdown)
        parts = assemble(consumer, settings, tuning, progress, stop, closing)
        if parts is not None:
            watchdog.start()
            loop(parts)


def assemble(
    consumer: BaseConsumer[Any, Any, Any],
    settings: Settings,
    tuning: Tuning,
    progress: Progress,
    stop: threading.Event,
    closing: ExitStack,
) -> Parts | None:
    """Make the parts in the order in which they need each other; None where asked to stop meanwhile.

    The producer comes before the consumer: starting it ends what a predecessor in this slot left
    open, for which reading committed offsets would have to wait.
    """
    stages, faults = Stages(consumer.name), Faults.from_environment()
    session = Session(settings.database, consumer.name, tuning.slot, lambda: stages("pg_commit"))
    closing.callback(session.close)
    admin = closing.enter_context(Admin(settings, consumer.name))
    if not _until(session.open, stop) or not _until(lambda: require_ids(admin, consumer.topics), stop):
        return None
    identity = f"obelus-{consumer.name}-{session.slot}"
    logger.info("slot %d", session.slot)
    make = partial(transactional, settings, consumer.name, identity)
    outlet = Outlet(make, stages, faults, progress.within)
    if not _until(outlet.start, stop):
        return None
    intake = Intake(lambda heard: Consumer(consumer_config(settings, consumer.name, heard)), consumer.topics)
    closing.callback(intake.close)
    ids = partial(require_ids, admin, consumer.topics)
    redrive = Redrive(consumer, session, stages, ids, partial(Reader, settings))
    return Parts(
        consumer=consumer,
        intake=intake,
        session=session,
        outlet=outlet,
        resync=Resync(consumer, intake, session, outlet, ids),
        errands=Errands(consumer, intake, session, outlet, stages, progress, redrive),
        stages=stages,
        progress=progress,
        faults=faults,
        stopping=stop.is_set,
        batch_size=tuning.batch or consumer.batch_size,
    )


def _until(step: Callable[[], object], stop: threading.Event) -> bool:
    """Repeat a step of starting until its part answers; False where asked to stop before."""
    patience = Backoff()
    while not stop.is_set():
        try:
            step()
            return True
        except TransientError as error:
            logger.warning("%s: %s", type(error).__name__, error)
            stop.wait(patience.next())
    return False


def whereabouts(error: BaseException) -> str:
    """Say what kind of fault happened where, without its message: that may hold content."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{frame.name} {frame.filename}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} in {places}"
