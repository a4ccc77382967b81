"""Counts what an erasure would meet, store by store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from policy.receipts import plan_digest
from schemas.eraser import Eraser, Scope
from schemas.errors import ConfigurationError, TransientError, UnknownOutcome


def counted(erasers: Sequence[Eraser], scope: Scope) -> tuple[dict[str, int], str]:
    """Count by map entry, and give the digest of what was found.

    A store that cannot be reached counts as nothing: a plan must not wait for it, Block must not.
    """
    counts: dict[str, int] = {}
    for eraser in erasers:
        try:
            counts |= eraser.plan(replace(scope, blocked=False)).counts
        except (TransientError, UnknownOutcome, ConfigurationError):
            continue
    return counts, digest_of(counts, scope)


def digest_of(counts: Mapping[str, int], scope: Scope) -> str:
    """Digest of what was found; entries without anything do not count."""
    found = {entry: count for entry, count in counts.items() if count}
    return plan_digest(found, (scope.subject or scope.tenant).hex())
