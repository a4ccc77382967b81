"""The stores that the sessions app works with, and how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

from schemas.errors import ConfigurationError, PartUnavailable
from schemas.settings import Settings
from schemas.topics import TURNS
from stores.cache import redis_client
from stores.copies import WindowEdges
from stores.database import Connection, connect, translate
from stores.vault import open_vault
from stores.windows import TTL_SECONDS
from streams.codec import Record
from streams.metrics import EVENTS, LAG, STAGE_SECONDS
from streams.sessions.keeper import SQL, Keeper
from streams.sessions.progress import CONSUMER, raise_positions, read_positions
from streams.topics import admin_client, topic_ids


class Parts:
    """Opened stores; used by one thread at a time, but for `ready`, `stuck` and `fetched`."""

    def __init__(self, settings: Settings) -> None:
        """Open them and find the log's number.

        Raises:
            ConfigurationError: a setting is wrong, or the topic does not exist.
        """
        self._settings = settings
        self._vault = open_vault(settings)
        self._redis = redis_client(settings)
        self._topic_id = _topic_id(settings)
        self._connection = connect(settings.database, application="obelus sessions", batches=True)
        self._edges = WindowEdges(
            lambda: connect(settings.database, autocommit=True, application="obelus sessions edges", batches=True),
            TTL_SECONDS,
        )
        self.log = _log_number(self._connection, self._topic_id)
        self._keeper = self._new_keeper()
        self._lock = threading.Lock()
        self._next: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._handed: dict[int, int] = {}
        self._read: dict[int, int] = {}
        self._moved_at = time.monotonic()

    def close(self) -> None:
        """Close them."""
        self._connection.close()
        self._edges.close()
        self._redis.close()
        self._vault.close()

    def assigned(self, start: Mapping[int, int]) -> None:
        """Partitions were assigned, to be read from these offsets on."""
        with self._lock:
            self._keeper.assigned()
            self._next = dict(start)
            self._ends = {}
            self._read.clear()
            self._handed.clear()
            self._moved_at = time.monotonic()

    def waiting(self) -> None:
        """A batch waits for a part and will be tried again: slow, not stuck."""
        self._moved_at = time.monotonic()

    def kept(self, parts: Iterable[int]) -> dict[int, int]:
        """Positions kept beside the windows.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        return read_positions(self._redis, self._topic_id, parts)

    def keep(self, records: Sequence[Record]) -> None:
        """Merge a batch into its windows and keep the position.

        Raises:
            TransientError: a part does not answer; the batch may be repeated.
        """
        with self._lock, STAGE_SECONDS.labels(CONSUMER, "keep").time():
            if self._connection.closed:
                self._connection = connect(self._settings.database, application="obelus sessions", batches=True)
                self._keeper = self._new_keeper()
            count = self._keeper.keep(records)
            self._move(records)
        EVENTS.labels(CONSUMER, "stored").inc(count)
        EVENTS.labels(CONSUMER, "none").inc(len(records) - count)

    def pass_over(self, records: Sequence[Record]) -> None:
        """Leave a batch that cannot be kept to the event log: its conversations are merged at the next touch."""
        with self._lock:
            self._keeper.assigned()
            self._move(records)
        EVENTS.labels(CONSUMER, "passed_over").inc(len(records))

    def _move(self, records: Sequence[Record]) -> None:
        nexts: dict[int, int] = {}
        for item in records:
            part, pos = item.position.part, item.position.pos
            nexts[part] = max(nexts.get(part, 0), pos + 1)
        raise_positions(self._redis, self._topic_id, nexts)
        self._next |= nexts
        self._moved_at = time.monotonic()

    def observe(self, ends: Mapping[int, int | None]) -> None:
        """Take the ends of assigned partitions, for lag and watchdog."""
        self._ends = {part: end for part, end in ends.items() if end is not None}
        LAG.labels(CONSUMER, TURNS).set(self._behind())

    def fetched(self, handed: Mapping[int, int], read: Mapping[int, int]) -> None:
        """Take how far the log was read; called in the client's own thread.

        Args:
            handed: by partition, the offset after the last record that Faust was given.
            read: by partition, the offset that is read next. Beyond what was handed over lie ends of transactions
                and aborted records, for which nothing ever comes.
        """
        # In this order, and looked at in the other one: what was read is never ahead of what was handed over.
        self._handed.update(handed)
        self._read.update(read)

    def keep_positions(self) -> None:
        """Note how far partitions are for which no record comes, and again where Redis has lost it.

        The windows that were lost too are merged from the event log when somebody speaks again.

        Raises:
            PartUnavailable: Redis does not answer.
        """
        with self._lock:
            for part, position in dict(self._read).items():
                if part in self._next and self._handed.get(part, 0) <= self._next[part]:
                    self._next[part] = max(self._next[part], position)
            kept = read_positions(self._redis, self._topic_id, self._next)
            behind = {part: following for part, following in self._next.items() if kept.get(part, 0) < following}
            raise_positions(self._redis, self._topic_id, behind)

    def stuck(self, seconds: float) -> bool:
        """True where records wait and none was kept for so long."""
        return self._behind() > 0 and time.monotonic() - self._moved_at > seconds

    def ready(self) -> tuple[bool, str]:
        """Say whether windows follow the log."""
        if self.stuck(10.0):
            return False, "records wait and none was kept"
        return True, ""

    def _behind(self) -> int:
        return sum(max(0, end - self._next.get(part, end)) for part, end in self._ends.items())

    def _new_keeper(self) -> Keeper:
        return Keeper(self._connection, self._vault, self._redis, self.log, self._edges)


def _topic_id(settings: Settings) -> str:
    with admin_client(settings) as admin:
        found = topic_ids(admin, [TURNS])
    if TURNS not in found:
        raise ConfigurationError(f"the topic {TURNS} does not exist: run `obelus topics apply`")
    return found[TURNS]


def _log_number(connection: Connection, topic_id: str) -> int:
    with translate():
        connection.execute(SQL.add_log, {"topic": TURNS, "id": topic_id})
        row = connection.execute(SQL.log, {"id": topic_id}).fetchone()
        connection.commit()
    if row is None:
        raise PartUnavailable("PostgreSQL: no number for the log")
    return int(row[0])
