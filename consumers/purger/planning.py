"""Counts what an erasure would meet, store by store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, wait
from dataclasses import replace

from policy.receipts import plan_digest
from schemas.eraser import Eraser, Scope
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome

Found = tuple[dict[str, int], str]
"""Counts by map entry, and the digest of what was found."""

_PATIENCE_SECONDS = 0.25
"""A block holds the subject's lock meanwhile."""


def counted(erasers: Sequence[Eraser], scope: Scope) -> Found:
    """Count by map entry, and give the digest of what was found.

    A store that cannot be reached counts as nothing: a plan must not wait for it, Block must not.
    """
    counts: dict[str, int] = {}
    _count(erasers, scope, counts)
    return counts, digest_of(counts, scope)


def counting(pool: Executor, erasers: Sequence[Eraser], scope: Scope) -> Callable[[], Found]:
    """Begin to count in another thread; what is returned waits a moment for it.

    A store that is not counted by then counts as nothing; `erase` counts again before anything is taken away.
    """
    counts: dict[str, int] = {}
    under_way = pool.submit(_count, erasers, scope, counts)

    def found() -> Found:
        if wait((under_way,), _PATIENCE_SECONDS).done:
            under_way.result()
        under_way.cancel()
        seen = dict(counts)
        return seen, digest_of(seen, scope)

    return found


def _count(erasers: Sequence[Eraser], scope: Scope, counts: dict[str, int]) -> None:
    for eraser in erasers:
        try:
            counts |= eraser.plan(replace(scope, blocked=False)).counts
        except (TransientError, UnknownOutcome, ConfigurationError):
            continue


def digest_of(counts: Mapping[str, int], scope: Scope) -> str:
    """Digest of what was found; entries without anything do not count."""
    found = {entry: count for entry, count in counts.items() if count}
    return plan_digest(found, (scope.subject or scope.tenant).hex())
