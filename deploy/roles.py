"""The consumers of a stack: names, order of start, entry points."""

from __future__ import annotations

CONSUMERS: dict[str, str] = {
    "extractor": "consumers.extractor",
    "gate": "consumers.gate",
    "resolver": "consumers.resolver",
    "indexer": "consumers.indexer",
    "purger": "consumers.purger",
    "streams": "streams.sessions.app",
    "api": "recall.api.main",
}
"""Each module has `main(settings: Settings) -> int`."""
