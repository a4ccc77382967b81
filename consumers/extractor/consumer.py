"""The extractor: what happens around its rules. Turns and controls in, candidates out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

from consumers.contract import BaseConsumer, Span
from consumers.extractor import store
from consumers.extractor.decide import decide
from consumers.extractor.look import look
from consumers.extractor.model import Ready, Result, State
from consumers.extractor.read import Reader, Said, who
from policy.document import load_policy
from schemas.events import CandidateEvent
from schemas.settings import Settings
from schemas.topics import CANDIDATES, TURNS
from schemas.words import MemoryType, SourceType
from stores.database import Connection, connect
from stores.sql import load
from stores.subjects import Pair, SubjectRow, ensure_subjects
from stores.vault import open_vault
from streams.codec import Message, Record, message

_SQL = load("consumers.extractor", "queries.sql")
_announce = partial(message, CANDIDATES)


class Extractor(BaseConsumer[Ready, State, Result]):
    """Stores what was said and ordered, and proposes what might be worth remembering."""

    name = "extractor"
    topics = (TURNS,)
    # Most turns end here, so a batch costs little but its commits, one of them the vault's.
    batch_size = 2500

    def __init__(self, settings: Settings) -> None:
        """Open the vault; the database is reached when the first batch needs it.

        Raises:
            ConfigurationError: the policy document or the vault cannot be used.
        """
        self._settings = settings
        self._candidate_days = load_policy(settings.policy).retention.candidate_days
        self._vault = open_vault(settings)
        self._connection: Connection | None = None
        self._aside = ThreadPoolExecutor(1, "handles")

    def prepare(self, batch: Sequence[Record]) -> Ready:
        """Decode, screen, extract, and give everybody who is new a handle.

        Raises:
            TransientError: screening, the vault or the database failed.
        """
        reader = Reader(self._vault)
        events, dead = reader.decode(batch)
        if not events:
            return Ready((), dead)
        # Handles wait for disks, rules for the processor: side by side. Both must be done before the lock.
        named = self._aside.submit(self._ensure, who(events))
        try:
            items = reader.read(events)
        finally:
            wait((named,))
        named.result()
        return Ready(items, dead)

    def load(self, tx: Connection, ready: Ready) -> State:
        """Lock and read. See `look`."""
        return look(tx, self._vault, ready)

    def decide(self, ready: Ready, state: State) -> Result:
        """Apply the rules. See `decide`."""
        return decide(ready, state)

    def store(self, tx: Connection, result: Result) -> None:
        """Write the outcome. See `store.write`."""
        store.write(tx, result, self._candidate_days)

    def publish(self, result: Result) -> list[Message]:
        """Announce the new candidates."""
        return [
            _event(row.id, row.keys.handle, row.subject.epoch, row.draft.type, row.draft.source_type)
            for row in result.candidates.values()
        ]

    def republish(self, tx: Connection, spans: Sequence[Span]) -> list[Message]:
        """Announce again what records of these spans caused."""
        rows = [
            row
            for span in spans
            for row in tx.execute(_SQL.caused, (span.log, span.part, span.start, span.stop)).fetchall()
        ]
        return [_event(*row) for row in rows]

    def close(self) -> None:
        """Let go of the database and the vault."""
        self._aside.shutdown()
        if self._connection is not None:
            self._connection.close()
        self._vault.close()

    def _ensure(self, said: dict[Pair, list[Said]]) -> None:
        """Give a handle to those who have a record after their fence; the erased are not named again."""

        def lives(pair: Pair, row: SubjectRow) -> bool:
            return any(not row.fenced(position, at) for position, at in said[pair])

        if self._connection is None or self._connection.closed:
            self._connection = connect(self._settings.database, application="obelus extractor")
        ensure_subjects(self._connection, self._vault, said, lives)


def _event(name: bytes, handle: bytes, epoch: int, kind: str, source: str) -> Message:
    event = CandidateEvent(
        id=name.hex(), handle=handle.hex(), epoch=epoch, type=MemoryType(kind), source_type=SourceType(source)
    )
    return _announce(event.handle, event, event.id)
