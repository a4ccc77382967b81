"""From changes to the vector index: level-triggered, an intent before each write (design, section 6)."""

from __future__ import annotations

from schemas.settings import Settings


def main(settings: Settings) -> int:
    """Run the indexer until it is told to stop; return the exit code."""
    from consumers.indexer.consumer import Indexer
    from consumers.worker import run

    return run(Indexer(settings), settings)
