"""From decisions to memories: identity, merging, supersession, history and the person's orders (C1 to C13)."""

from __future__ import annotations

from schemas.settings import Settings


def main(settings: Settings) -> int:
    """Run the resolver until it is told to stop; return the exit code."""
    from contextlib import closing

    from consumers.resolver.consumer import Resolver
    from consumers.worker import run

    with closing(Resolver(settings)) as consumer:
        return run(consumer, settings)
