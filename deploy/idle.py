"""Is anything left to do? Positions and log ends, open intents, messages not yet out (cli.md, `wait`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from schemas.errors import TransientError
from schemas.settings import Settings
from stores.cache import redis_client
from stores.database import connect, translate
from streams import offsets
from streams.sessions.progress import sessions_lag
from streams.topics import SUBSCRIPTIONS, admin_client

WINDOWS = "streams"
"""The sessions app by the name that `obelus run` and `obelus status` have for it."""
_PAUSE_SECONDS = 0.1
# What a consumer read but has not stored is seen by its position; what a tick is about to do is not seen by anything,
# hence a second look.
_LOOKS = 2
_FLIGHT = """
SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM vectors WHERE state <> 'written'),
       (SELECT count(*) FROM memories WHERE status = 'active' AND indexed_version IS DISTINCT FROM version),
       (SELECT count(*) FROM erasures WHERE state IN ('blocked', 'erasing'))
"""


class Watch:
    """Looks at a running stack from outside."""

    def __init__(self, settings: Settings) -> None:
        """Connect."""
        self._settings = settings
        self._admin = admin_client(settings)
        self._connection = connect(settings.database, autocommit=True, application="obelus wait")
        self._redis = redis_client(settings)
        self.lag: dict[str, int] = dict.fromkeys((*SUBSCRIPTIONS, WINDOWS), 0)

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._admin.close()
        self._connection.close()
        self._redis.close()

    def until_idle(self, timeout: float, tell: Callable[[str], None]) -> bool:
        """Look until nothing is left twice in a row; True where that came about in time.

        Args:
            timeout: seconds.
            tell: called with what is busy, about once a second.
        """
        until, next_word, quiet = time.monotonic() + timeout, time.monotonic() + 1.0, 0
        while True:
            busy = self.look()
            quiet = 0 if busy else quiet + 1
            if quiet >= _LOOKS:
                return True
            now = time.monotonic()
            if now >= until:
                return False
            if busy and now >= next_word:
                tell(", ".join(f"{name} {count}" for name, count in busy.items()))
                next_word = now + 1.0
            time.sleep(_PAUSE_SECONDS)

    def look(self) -> Mapping[str, int]:
        """Tell what is left by name; empty where nothing is. Afterwards `lag` is fresh."""
        try:
            with translate():
                row = self._connection.execute(_FLIGHT).fetchone()
            lag = offsets.lag(self._admin, self._connection)
            self.lag = {name: sum(topics.values()) for name, topics in lag.items()}
            self.lag[WINDOWS] = sessions_lag(self._admin, self._redis)
        except TransientError:
            # A topic is being made, a broker comes up: not idle, and worth another look.
            return {"unreachable": 1}
        outbox, intents, unindexed, erasures = row or (0, 0, 0, 0)
        flight = {"outbox": outbox, "intents": intents, "unindexed": unindexed, "erasures": erasures}
        return {name: count for name, count in (self.lag | flight).items() if count}
