"""From turns and controls to the event log and to candidates (design, section 6)."""

from __future__ import annotations

from schemas.settings import Settings


def main(settings: Settings) -> int:
    """Run the extractor until it is told to stop; return the exit code."""
    from contextlib import closing

    from consumers.extractor.consumer import Extractor
    from consumers.worker import run

    with closing(Extractor(settings)) as consumer:
        return run(consumer, settings)
