"""Answers that are kept for a moment, one of each question of a subject's present generation (R9).

A kept answer is found by handle, epoch and generation, all read from PostgreSQL with each recall: what Redis lost, kept
too long or brought back costs time and is never told. See decision 11.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import orjson

from recall.breaker import Breaker
from recall.model import Kept, Question
from recall.truth import Person, unmoved
from schemas.errors import KeyMissing, PartUnavailable
from schemas.settings import Settings
from stores.cache import entry_of, recall_key, redis_client
from stores.copies import Recorded
from stores.database import Connection
from stores.sealing import SubjectKeys

if TYPE_CHECKING:
    from stores.recalls import RecallStore

log = logging.getLogger(__name__)

LARGEST: Final = 256 * 1024
# Asking the truth takes milliseconds: nobody waits longer than some of them for a shortcut.
_PATIENCE: Final = 0.15
# Rises with every change of what is kept or of how answers are made.
_FORM: Final = 1


class AnswerCache:
    """Keeps answers; safe to call from several threads. Nothing here raises: without Redis there is no shortcut."""

    def __init__(
        self, settings: Settings, made_by: Sequence[str], count: Callable[[str], None] = lambda result: None
    ) -> None:
        """Keep where Redis is; it is connected to with the first question.

        Args:
            settings: where Redis is.
            made_by: what else an answer depends on, policy and embedder for example; others' answers are not shared.
            count: counts results (`hit`, `miss`, `bypass`, `unavailable`).
        """
        self._settings = settings
        self._made_by = list(made_by)
        self._count = count
        self._lock = Lock()
        self._breaker = Breaker()
        self._opened: RecallStore | None = None

    def key(self, question: Question, who: Person, keys: SubjectKeys) -> str | None:
        """The key of an answer, None where it must not be kept: it is about another time, or about what was just said.

        Question and permission are hashed under the subject's key, so that a key tells nothing and dies with it.
        """
        if question.at is not None or question.statements:
            self._count("bypass")
            return None
        asked = [
            _FORM,
            self._made_by,
            question.role,
            question.clearance,
            None if question.namespaces is None else sorted(set(question.namespaces)),
            question.limit,
            question.token_budget,
            question.scope,
            question.text,
        ]
        return recall_key(who.handle, who.epoch, who.generation, keys.id("recall", orjson.dumps(asked)))

    def entry(self, key: str) -> bytes:
        """The id of what lies under a key, as the lineage has it."""
        return entry_of(key)

    def read(self, key: str, who: Person, keys: SubjectKeys) -> Kept | None:
        """The answer under a key, None where there is none that holds."""
        sealed = self._guarded(lambda store: store.read(key))
        if sealed is _NOTHING:
            self._count("unavailable")
            return None
        kept = _opened(key, keys, sealed)
        if kept is None or who.now.timestamp() >= kept.until:
            self._count("miss")
            return None
        self._count("hit")
        return kept

    def keep(
        self, connection: Connection, key: str, who: Person, keys: SubjectKeys, kept: Kept, recorded: Recorded
    ) -> None:
        """Keep an answer that was made from what ``who`` was read with and whose parents are recorded.

        It is looked at once more after it was written: an erasure that came in between may have swept the cache before
        it got there. One that comes later finds it.
        """
        left = int((kept.until - who.now.timestamp()) * 1000)
        sealed = keys.seal(key.encode(), orjson.dumps(asdict(kept)))
        if left <= 0 or len(sealed) > LARGEST:
            return
        try:
            if self._guarded(lambda store: store.write(key, sealed, left, recorded)) is _NOTHING or unmoved(
                connection, who
            ):
                return
        except Exception as error:
            log.warning("a kept answer is taken back: %s", type(error).__name__)
        self._guarded(lambda store: store.drop(key))

    def close(self) -> None:
        """Close the connections, where there are any."""
        if self._opened is not None:
            self._opened.close()

    def _guarded(self, call: Callable[[RecallStore], Any]) -> Any:
        """What a call gives, `_NOTHING` where Redis does not answer or has not for a while."""
        if self._breaker.open:
            return _NOTHING
        try:
            found = call(self._store())
        except PartUnavailable as error:
            log.warning("recall without its cache: %s", type(error).__name__)
            self._breaker.failed()
            return _NOTHING
        self._breaker.succeeded()
        return found

    def _store(self) -> RecallStore:
        from stores.recalls import RecallStore

        with self._lock:
            self._opened = self._opened or RecallStore(redis_client(self._settings, _PATIENCE))
            return self._opened


_NOTHING: Final = object()


def _opened(key: str, keys: SubjectKeys, sealed: bytes | None) -> Kept | None:
    if sealed is None:
        return None
    try:
        return Kept(**orjson.loads(keys.open(key.encode(), sealed)))
    except (KeyMissing, TypeError, ValueError):
        # Damaged, planted, or of another version: the truth is asked.
        return None
