"""Everything that a request handler may reach, made once a process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from psycopg_pool import ConnectionPool

from policy.document import Policy, load_policy
from recall.auth import Tokens
from recall.cached import AnswerCache
from recall.pool import reading_pool
from recall.search import Parts, Recall
from recall.sessions import Windows
from schemas.settings import Settings
from stores.database import Connection
from stores.embeddings import embedder
from stores.vault import Vault, open_vault
from stores.vectors import VectorIndex
from streams.codec import Message
from streams.metrics import CACHE, EVENTS

if TYPE_CHECKING:
    from streams.producer import Publisher

# A recall waits for stores most of its time; more threads would only wait for each other's interpreter lock.
THREADS = 8
# The client takes whole seconds; a search takes milliseconds or something is wrong.
SEARCH_SECONDS = 1


class Outbound:
    """The producer of events, made when something is first sent: most processes of the read side never write."""

    def __init__(self, settings: Settings) -> None:
        """Keep where to publish."""
        self._settings = settings
        self._lock = Lock()
        self._publisher: Publisher | None = None

    def send(self, message: Message) -> None:
        """Publish one event.

        Raises:
            PartUnavailable: the broker did not take it.
        """
        self._made().send([message])

    def _made(self) -> Publisher:
        from streams.producer import Publisher

        with self._lock:
            self._publisher = self._publisher or Publisher(self._settings, "api")
            return self._publisher

    def close(self) -> None:
        """Close the producer where there is one."""
        if self._publisher is not None:
            self._publisher.close()


@dataclass(frozen=True, slots=True)
class Context:
    """Parts of a running API."""

    settings: Settings
    policy: Policy
    tokens: Tokens
    vault: Vault
    pool: ConnectionPool[Connection]
    recall: Recall
    outbound: Outbound
    threads: ThreadPoolExecutor

    def close(self) -> None:
        """Give back what is held; nothing here loses data."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.outbound.close()
        self.recall.close()


def open_context(settings: Settings) -> Context:
    """Open every part.

    Raises:
        ConfigurationError: a setting is missing or wrong.
    """
    policy = load_policy(settings.policy)
    vault = open_vault(settings)
    pool = reading_pool(settings.database, THREADS)
    embeds = embedder(settings)
    made_by = (policy.sha256, embeds.name)
    parts = Parts(
        pool=pool,
        vault=vault,
        index=VectorIndex(settings, timeout=SEARCH_SECONDS),
        embedder=embeds,
        policy=policy,
        windows=Windows(settings),
        cache=AnswerCache(settings, made_by, lambda result: CACHE.labels(result).inc()) if settings.redis else None,
    )
    return Context(
        settings=settings,
        policy=policy,
        tokens=Tokens(settings.tokens_file),
        vault=vault,
        pool=pool,
        recall=Recall(parts, lambda outcome: EVENTS.labels("recall", outcome).inc()),
        outbound=Outbound(settings),
        threads=ThreadPoolExecutor(THREADS, thread_name_prefix="request"),
    )
