"""The session window as its own channel of a recall (S2): what was said last in this conversation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from recall.pack import tokens
from schemas.errors import TransientError
from schemas.settings import Settings
from stores.sealing import SubjectKeys

if TYPE_CHECKING:
    from stores.windows import WindowStore

log = logging.getLogger(__name__)

TOKEN_BUDGET = 3_000


class Windows:
    """Reads what the sessions app keeps; a lost window costs context, never an error."""

    def __init__(self, settings: Settings) -> None:
        """Keep where Redis is; it is connected to when a conversation is first named."""
        self._settings = settings
        self._lock = Lock()
        self._opened: WindowStore | None = None

    def read(self, keys: SubjectKeys, epoch: int, conversation: str) -> Sequence[dict[str, Any]]:
        """The last turns of a conversation within the token budget, oldest first; empty where there is no window."""
        try:
            window = self._store().read(keys, epoch, keys.id("conversation", conversation)) or ()
        except TransientError as error:
            log.warning("recall without the session window: %s", type(error).__name__)
            return ()
        kept: list[dict[str, Any]] = []
        left = TOKEN_BUDGET
        for turn in reversed(window):
            left -= tokens(turn.text)
            if left < 0:
                break
            kept.append({"role": turn.role, "text": turn.text, "at": turn.at})
        return kept[::-1]

    def close(self) -> None:
        """Close the connections, where there are any."""
        if self._opened is not None:
            self._opened.close()

    def _store(self) -> WindowStore:
        # Redis' client takes 8 MB, and most agents keep their own window.
        from stores.cache import redis_client
        from stores.windows import WindowStore

        with self._lock:
            self._opened = self._opened or WindowStore(redis_client(self._settings))
            return self._opened
