"""A recall service with its parts opened, for processes that are not the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from policy.document import Policy
from recall.pool import reading_pool
from recall.search import Parts, Recall
from recall.sessions import Windows
from schemas.settings import Settings
from stores.embeddings import embedder
from stores.vault import open_vault
from stores.vectors import VectorIndex


@contextmanager
def open_recall(settings: Settings, policy: Policy) -> Iterator[Recall]:
    """Open the parts of a recall for the length of a block.

    Raises:
        ConfigurationError: a setting is missing or wrong.
    """
    parts = Parts(
        pool=reading_pool(settings.database, 1),
        vault=open_vault(settings),
        index=VectorIndex(settings),
        embedder=embedder(settings),
        policy=policy,
        windows=Windows(settings),
    )
    recall = Recall(parts)
    try:
        yield recall
    finally:
        recall.close()
