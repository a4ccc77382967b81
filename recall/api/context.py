"""Everything that a request handler may reach, made once a process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from psycopg_pool import ConnectionPool

from policy.document import Policy, load_policy
from recall.auth import Tokens
from recall.pool import reading_pool
from recall.search import Parts, Recall
from recall.sessions import Windows
from schemas.settings import Settings
from stores.cache import redis_client
from stores.database import Connection
from stores.embeddings import embedder
from stores.vault import Vault, open_vault
from stores.vectors import VectorIndex
from streams.metrics import EVENTS
from streams.producer import Publisher

# A recall waits for stores most of its time; more threads would only wait for each other's interpreter lock.
THREADS = 8
# The client takes whole seconds; a search takes milliseconds or something is wrong.
SEARCH_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Context:
    """Parts of a running API."""

    settings: Settings
    policy: Policy
    tokens: Tokens
    vault: Vault
    pool: ConnectionPool[Connection]
    recall: Recall
    publisher: Publisher
    threads: ThreadPoolExecutor

    def close(self) -> None:
        """Give back what is held; nothing here loses data."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.publisher.close()
        self.pool.close()
        self.vault.close()


def open_context(settings: Settings) -> Context:
    """Open every part.

    Raises:
        ConfigurationError: a setting is missing or wrong.
    """
    policy = load_policy(settings.policy)
    vault = open_vault(settings)
    pool = reading_pool(settings.database, THREADS)
    parts = Parts(
        pool=pool,
        vault=vault,
        index=VectorIndex(settings, timeout=SEARCH_SECONDS),
        embedder=embedder(settings),
        policy=policy,
        windows=Windows(redis_client(settings)),
    )
    return Context(
        settings=settings,
        policy=policy,
        tokens=Tokens(settings.tokens_file),
        vault=vault,
        pool=pool,
        recall=Recall(parts, lambda outcome: EVENTS.labels("recall", outcome).inc()),
        publisher=Publisher(settings, "api"),
        threads=ThreadPoolExecutor(THREADS, thread_name_prefix="request"),
    )
