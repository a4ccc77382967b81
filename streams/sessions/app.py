"""`obelus run streams`: the Faust app that keeps session windows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import faust
from faust.types import TP
from yarl import URL

from schemas.errors import TransientError
from schemas.settings import Settings
from schemas.topics import TURNS
from streams.codec import Record
from streams.metrics import serve
from streams.offsets import group_id
from streams.sessions.incoming import record
from streams.sessions.parts import Parts
from streams.sessions.progress import CONSUMER
from streams.sessions.transport import Transport

log = logging.getLogger(__name__)

BATCH = 500
WITHIN_SECONDS = 0.02
STUCK_SECONDS = 60.0
"""With records waiting and none kept for this long the process ends, to be started anew."""
_FETCH_BYTES = 1 << 20
"""Bytes of one partition that are held ready; a larger record still comes, alone (KIP-74)."""
_REST = 3
"""Times as long as a full batch took to rest after it: with a backlog others need the processor, and turns that
scroll out of a window before anybody asks for it are not missed."""
_YIELD = 15
"""Steps of priority given up: a late window is merged from the event log, a late memory is just late."""
_BACKOFF_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
_STUCK_STATUS = 75


class SessionsApp(faust.App):
    """The app, with the parts that its agent works with."""

    parts: Parts

    async def kept_positions(self, wanted: Mapping[TP, int]) -> dict[TP, int]:
        """Positions kept beside the windows, for partitions of ours."""
        kept = await asyncio.to_thread(self.parts.kept, [tp.partition for tp in wanted if tp.topic == TURNS])
        return {TP(TURNS, part): following for part, following in kept.items()}

    def _create_directories(self) -> None:
        """Make none: they are for tables, of which there are none, and would lie in the current directory."""


def main(settings: Settings) -> int:
    """Run until told to stop; 75 where nothing moved any more.

    Raises:
        ConfigurationError: a part's setting is wrong.
    """
    os.nice(_YIELD)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    parts = Parts(settings)
    app = build(settings, parts)
    health = serve(settings.health_port, parts.ready)
    worker = faust.Worker(app, loglevel=logging.WARNING, quiet=True, redirect_stdouts=False, logging_config=None)
    status = 0
    try:
        worker.execute_from_commandline()
    except SystemExit as ended:
        status = int(ended.code or 0)
    health.shutdown()
    parts.close()
    return status


def build(settings: Settings, parts: Parts) -> SessionsApp:
    """Make the app: one agent, one at a time, no tables, no exactly-once mode, raw bytes."""
    app = SessionsApp(
        group_id(CONSUMER),
        broker=f"kafka://{settings.kafka}",
        store="memory://",
        processing_guarantee="at_least_once",
        key_serializer="raw",
        value_serializer="raw",
        web_enabled=False,
        topic_disable_leader=True,
        topic_allow_declare=False,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=_FETCH_BYTES,
        broker_commit_interval=1.0,
        broker_session_timeout=6.0,
        broker_heartbeat_interval=1.0,
        stream_buffer_maxsize=4 * BATCH,
        stream_recovery_delay=0.0,
        logging_config=None,
        loghandlers=[],
    )
    app.parts = parts
    app.transport = Transport([URL(f"kafka://{settings.kafka}")], app, loop=app.loop)
    topic = app.topic(TURNS, key_type=bytes, value_type=bytes)

    @app.agent(topic, concurrency=1)
    async def windows(stream: Any) -> None:
        async for events in stream.take_events(BATCH, within=WITHIN_SECONDS):
            began = time.monotonic()
            await _keep(parts, [record(event.message, parts.log) for event in events])
            if len(events) == BATCH:
                await asyncio.sleep(_REST * (time.monotonic() - began))

    @app.timer(interval=1.0)  # type: ignore[untyped-decorator]
    async def progress() -> None:
        parts.observe(
            {tp.partition: app.consumer.highwater(tp) for tp in app.consumer.assignment() if tp.topic == TURNS}
        )
        if parts.stuck(STUCK_SECONDS):
            log.error("records wait and none was kept for %d s", STUCK_SECONDS)
            # A stuck event loop or thread cannot be asked to stop.
            os._exit(_STUCK_STATUS)
        with contextlib.suppress(TransientError):
            await asyncio.to_thread(parts.keep_positions)

    return app


async def _keep(parts: Parts, records: Sequence[Record]) -> None:
    """Keep a batch; what passes is waited out in place, what does not is left to the event log's merge."""
    attempt = 0
    while True:
        try:
            await asyncio.to_thread(parts.keep, records)
            return
        except TransientError as error:
            log.warning("windows wait: %s", type(error).__name__)
            parts.waiting()
            await asyncio.sleep(_BACKOFF_SECONDS[min(attempt, len(_BACKOFF_SECONDS) - 1)])
            attempt += 1
        except Exception as error:
            # Never raised on: Faust would count the batch as done and go on without a word.
            log.error("a batch was passed over: %s", type(error).__name__)
            await asyncio.to_thread(parts.pass_over, records)
            return
