"""From candidates to decisions: the policy document has the word (P1)."""

from __future__ import annotations

from schemas.settings import Settings


def main(settings: Settings) -> int:
    """Run the gate until it is told to stop; return the exit code."""
    from contextlib import closing

    from consumers.gate.consumer import Gate
    from consumers.worker import run

    with closing(Gate(settings)) as consumer:
        return run(consumer, settings)
