"""The indexer: what happens around its rules. Changes in, vectors out."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from consumers.contract import BaseConsumer
from consumers.deadletters import DeadLetter
from consumers.indexer import store
from consumers.indexer.decide import decide
from consumers.indexer.look import bodies, embed, look
from consumers.indexer.model import Hint, Ready, Result, State
from consumers.indexer.sweep import Sweeper
from consumers.indexer.writer import Writer
from schemas.errors import InvalidEvent, SubjectMoved
from schemas.events import Change
from schemas.settings import Settings
from schemas.topics import CHANGES
from stores.database import Connection, Link
from stores.embeddings import embedder
from stores.vault import open_vault
from stores.vectors import VectorIndex
from streams.codec import Message, Record, decode

logger = logging.getLogger(__name__)

# Changes usually reach the log within a second; a memory that waits longer has lost its hint.
GRACE_SECONDS = 30.0
_PER_TICK = 200


class Indexer(BaseConsumer[Ready, State, Result]):
    """Keeps the index equal to the active memories of subjects that are not fenced."""

    name = "indexer"
    topics = (CHANGES,)
    # The model takes 12 ms a passage: more would keep a batch from its group for too long, and vectors on
    # their way (as numbers, turned, as JSON) would take more memory than all else.
    batch_size = 250

    def __init__(self, settings: Settings) -> None:
        """Open the vault; the other stores are connected to when they are first needed.

        Raises:
            ConfigurationError: the vault cannot be used.
        """
        self._vault = open_vault(settings)
        self._embedder = embedder(settings)
        self._link = Link(settings.database, "obelus indexer: index")
        self._index = VectorIndex(settings)
        self._writer = Writer(self._index, self._link)
        self._sweeper = Sweeper(self._index, self._link, self.mend)
        self._due: list[bytes] = []
        self._fit = False

    def prepare(self, batch: Sequence[Record]) -> Ready:
        """Decode the changes and embed what is not in the index yet.

        Raises:
            ConfigurationError: the index belongs to another embedder, or is not fit to be filtered.
        """
        self._see_fit()
        hints: list[Hint] = []
        dead: list[DeadLetter] = []
        for record in batch:
            try:
                hints.append(_hint(record))
            except InvalidEvent as error:
                dead.append(DeadLetter(record.position, error.reason))
        return self._ready(hints, dead)

    def load(self, tx: Connection, ready: Ready) -> State:
        """Lock and read. See `look`."""
        return look(tx, ready)

    def decide(self, ready: Ready, state: State) -> Result:
        """Say what is to be written and removed. See `decide`."""
        return decide(ready, state)

    def store(self, tx: Connection, result: Result) -> None:
        """Commit to it in the ledger."""
        result.leased_at = time.monotonic()
        store.open_intents(tx, result)

    def settle(self, result: Result) -> None:
        """Do it. See `Writer`."""
        self._writer.carry_out(result)

    def tick(self, tx: Connection) -> Sequence[Message]:
        """Take up what a killed or timed-out worker left, and what no hint came for."""
        due = [*store.lapsed(tx, _PER_TICK), *store.unindexed(tx, _PER_TICK, GRACE_SECONDS)]
        self._due = list(dict.fromkeys(due))
        return ()

    def after_tick(self) -> None:
        """Mend what the tick found, then compare a little more of the two sides."""
        self._see_fit()
        due, self._due = self._due, []
        if due:
            self.mend(due)
        self._sweeper.step()

    def mend(self, memories: Iterable[bytes]) -> int:
        """Bring memories and their points together, whatever state they are in; return how many points moved."""
        ready = self._ready([Hint(memory) for memory in memories], [])
        try:
            with self._link.transaction() as tx:
                result = decide(ready, look(tx, ready))
                self.store(tx, result)
        except SubjectMoved:
            # They change right now, so hints are on their way; the next tick looks again.
            return 0
        self._writer.carry_out(result)
        return len(result.writes) + len(result.removals)

    def close(self) -> None:
        """Close all connections."""
        self._link.close()
        self._index.close()
        self._vault.close()

    @property
    def sweeper(self) -> Sweeper:
        """What compares both sides."""
        return self._sweeper

    def _see_fit(self) -> None:
        """Once, before anything is written: the collection is there, of our length, with every payload index."""
        if not self._fit:
            self._index.ensure(self._embedder.dim)
            self._fit = True

    def _ready(self, hints: list[Hint], dead: list[DeadLetter]) -> Ready:
        with self._link.transaction() as tx:
            rows = bodies(tx, hints)
        return Ready(hints, embed(self._vault, self._embedder, rows), dead)


def _hint(record: Record) -> Hint:
    event = decode(record)
    assert isinstance(event, Change)  # noqa: S101 - decode knows what a topic carries
    return Hint(bytes.fromhex(event.id) if event.id else None, bytes.fromhex(event.handle))
