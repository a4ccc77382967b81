"""The purger: deletion requests in, every store emptied, signed receipts out."""

from __future__ import annotations

from schemas.settings import Settings


def main(settings: Settings) -> int:
    """Run the consumer until it is told to stop; give the process's exit status."""
    from consumers.purger.consumer import Purger
    from consumers.worker import run

    purger = Purger(settings)
    try:
        return run(purger, settings)
    finally:
        purger.close()
