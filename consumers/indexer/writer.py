"""Brings the index to what the ledger intends: write, check again, undo what moved, remove what is old.

Each step may be the last that the process does, or may be answered too late:

    intents committed    lapse, and the tick takes their memories up
    points written       the same; a point's id is of one version, so it is written or removed by itself
    checked, closed      what moved is marked as to be removed, and the tick takes that up too
    removed              rows are dropped only after the index has said so
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

import numpy as np

from consumers.indexer import store
from consumers.indexer.model import Result, Write
from stores.database import Link
from stores.vectors import VectorIndex

# As large as a batch; what a tick mends comes in the same pieces.
_CALL = 250
# An intent must outlive a call that starts now: half a lease is more than a vector time-out.
_FRESH_SECONDS = store.LEASE_SECONDS / 2


class Writer:
    """Carries out results, one thread, on a connection of its own."""

    def __init__(self, index: VectorIndex, link: Link) -> None:
        """Take the index and where to check."""
        self._index = index
        self._link = link

    def carry_out(self, result: Result) -> None:
        """Write and remove points; may be called again with the same result.

        Raises:
            PartUnavailable: a store cannot be reached.
            UnknownOutcome: the index did not answer in time; call again, or leave it to the tick.
        """
        gone = {entry.point: entry.handle for entry in result.removals}
        for start in range(0, len(result.writes), _CALL):
            gone |= self._write(result.writes[start : start + _CALL], result.leased_at)
        if gone:
            self._index.delete(gone.keys())
            with self._link.transaction() as tx:
                store.forget(tx, gone.keys(), set(gone.values()))

    def _write(self, writes: Sequence[Write], leased_at: float) -> dict[bytes, bytes]:
        """Write some points and close their intents; return those, with their handles, that had no right to be."""
        if time.monotonic() - leased_at > _FRESH_SECONDS:
            writes = self._renewed(writes)
        if not writes:
            return {}
        self._index.upsert([write.point for write in writes], np.stack([write.vector for write in writes]))
        # The client's request and response refer to each other and would keep megabytes until a rare collection.
        gc.collect(0)
        with self._link.transaction() as tx:
            moved = store.close(tx, writes)
        return {write.point.id: write.point.handle for write in writes if write.point.id in moved}

    def _renewed(self, writes: Sequence[Write]) -> list[Write]:
        with self._link.transaction() as tx:
            still = store.renew(tx, writes)
        return [write for write in writes if write.point.id in still]
