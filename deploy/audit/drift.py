"""What differs between the stores, and what lies under a handle that nobody holds."""

from __future__ import annotations

from collections import Counter
from typing import Any

from schemas.settings import Settings


def drift(settings: Settings, *, repair: bool = False) -> list[dict[str, Any]]:
    """Compare every store with PostgreSQL; with ``repair`` erase what should be gone.

    Returns:
        ``{kind, store, count}`` for each kind of difference that there is; differences of the
        index are left to the indexer's own sweep, which alone may write there.
    """
    from consumers.indexer.sweep import drift as of_index
    from consumers.purger.registry import Parts
    from consumers.purger.sweep import erase, strays

    parts = Parts.open(settings)
    try:
        found = strays(parts)
        if repair:
            erase(parts, found)
    finally:
        parts.close()
    by_entry: Counter[str] = Counter()
    for stray in found:
        by_entry[stray.entry] += stray.count
    index = Counter(difference.kind for difference in of_index(settings))
    return [
        *({"kind": "erased_handle", "store": entry, "count": n, "repaired": repair} for entry, n in by_entry.items()),
        *({"kind": kind, "store": "qdrant", "count": n, "repaired": False} for kind, n in index.items()),
    ]
