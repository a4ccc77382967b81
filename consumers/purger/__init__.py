"""The purger: deletion requests in, every store emptied, signed receipts out."""

from __future__ import annotations

from schemas.settings import Settings


def main(settings: Settings) -> int:
    """Run the consumer until it is told to stop; give the process's exit status."""
    import logging
    import sys

    from consumers.purger.consumer import Purger
    from consumers.worker import run

    # One line for each request to the index says nothing that metrics do not.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # Three threads that mostly wait; one whose answer has come should not wait for the others' turn of 5 ms too.
    sys.setswitchinterval(0.0005)
    purger = Purger(settings)
    try:
        return run(purger, settings)
    finally:
        purger.close()
