"""Keeps windows: one batch of records in, merged windows in Redis out. Repeatable; blocking, so it runs in a thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
import psycopg
from redis import Redis

from schemas.errors import SubjectMoved, TransientError
from schemas.words import Consent
from stores.copies import Place, WindowEdges
from stores.database import Connection, translate
from stores.sealing import Lookup, SubjectKeys, lock_of
from stores.sql import load
from stores.subjects import Pair, SubjectRow, ensure_subjects, load_by_ref, lock_refs
from stores.vault import Vault
from stores.windows import TURNS, WindowStore, WindowTurn
from streams.codec import Record
from streams.sessions.consent import Words
from streams.sessions.heard import Heard, Ordered, hear

SQL = load("streams.sessions", "queries.sql")

# Only what is remembered of conversations seen since the assignment; forgetting costs a query each.
_MOST_TOUCHED = 100_000


@dataclass(frozen=True, slots=True)
class _People:
    """Everybody of a batch as their rows stand under the lock."""

    rows: Mapping[bytes, SubjectRow]
    refs: Mapping[Pair, bytes]
    conversations: Mapping[tuple[bytes, bytes], Consent]
    tombstones: Collection[bytes]
    lookups: Mapping[str, Lookup]


class Keeper:
    """Merges turns into windows; one at a time, for one log."""

    def __init__(self, connection: Connection, vault: Vault, client: Redis, log: int, edges: WindowEdges) -> None:
        """Take the stores, the number of ``memory.turns`` in table ``logs``, and what records where windows come from.

        Edges are committed while this connection holds the locks, so that none is written for a person who is erased.
        """
        self._connection = connection
        self._vault = vault
        self._windows = WindowStore(client)
        self._log = log
        self._edges = edges
        self._words = Words()
        self._touched: set[Place] = set()
        self._settled: set[int] = set()

    def assigned(self) -> None:
        """Partitions came: what another owner did meanwhile is merged from the event log at the next touch."""
        self._touched.clear()
        self._settled.clear()

    def keep(self, records: Sequence[Record]) -> int:
        """Merge a batch and give how many turns went into windows.

        Raises:
            TransientError: a part does not answer, or somebody moved; the batch may be repeated.
        """
        heard = hear(records)
        turns = [item for item in heard if isinstance(item, Heard)]
        with translate():
            try:
                self._consent(records, [item for item in heard if isinstance(item, Ordered)])
                return self._merge(turns) if turns else 0
            finally:
                self._connection.rollback()

    def _consent(self, records: Sequence[Record], words: Sequence[Ordered]) -> None:
        applied: dict[int, int] = dict(self._connection.execute(SQL.extractor, {"log": self._log}).fetchall())
        self._connection.rollback()
        for part in {record.position.part for record in records} - self._settled:
            # A word of consent before the batch may have been met by an earlier life of this process.
            first = min(record.position.pos for record in records if record.position.part == part)
            if applied and applied.get(part, 0) < first:
                raise TransientError("the extractor has not applied what lies before this batch")
            self._settled.add(part)
        self._words.forget_applied(self._log, applied)
        for word in words:
            self._words.add(word)

    def _merge(self, turns: Sequence[Heard]) -> int:
        people = self._people(turns)
        allowed = [turn for turn in turns if self._allowed(turn, people)]
        handles = {people.rows[people.refs[turn.tenant, turn.subject]].handle for turn in allowed}
        keys = self._vault.data_keys(handle for handle in handles if handle)
        by_window: dict[Place, list[WindowTurn]] = {}
        for turn in allowed:
            row = people.rows[people.refs[turn.tenant, turn.subject]]
            own = keys[row.handle or b""]
            place = (own.handle, row.epoch, own.id("conversation", turn.conversation))
            author = people.refs[turn.tenant, turn.author]
            by_window.setdefault(place, []).append(_window_turn(own, turn, author if author != row.ref else b""))
        self._write(by_window, keys, people)
        return len(allowed)

    def _people(self, turns: Sequence[Heard]) -> _People:
        pairs = {(turn.tenant, turn.subject) for turn in turns} | {(turn.tenant, turn.author) for turn in turns}
        refs = ensure_subjects(self._connection, self._vault, pairs, _live(turns))
        lookups = self._vault.lookups({turn.tenant for turn in turns})
        lock_refs(self._connection, [lock_of(ref) for ref in refs.values()])
        rows = load_by_ref(self._connection, refs.values())
        conversations = {lookups[turn.tenant].conversation(turn.subject, turn.conversation) for turn in turns}
        consents = self._connection.execute(
            SQL.not_on, {"subjects": list(refs.values()), "conversations": list(conversations)}
        ).fetchall()
        tombstones = self._vault.has_tombstones(
            lookups[turn.tenant].tombstone("message", turn.subject, turn.message_id) for turn in turns
        )
        return _People(rows, refs, {(ref, name): Consent(word) for ref, name, word in consents}, tombstones, lookups)

    def _allowed(self, turn: Heard, people: _People) -> bool:
        lookup = people.lookups[turn.tenant]
        ref = people.refs[turn.tenant, turn.subject]
        row, author = people.rows.get(ref), people.rows.get(people.refs[turn.tenant, turn.author])
        if row is None or author is None or row.handle is None:
            return False
        if row.fenced(turn.position, turn.at) or author.fenced(turn.position, turn.at):
            return False
        if Consent.ON is not row.tenant_consent or (author is not row and author.consent is not Consent.ON):
            return False
        if lookup.tombstone("message", turn.subject, turn.message_id) in people.tombstones:
            return False
        name = lookup.conversation(turn.subject, turn.conversation)
        return self._words.permits(turn, row.consent, people.conversations.get((ref, name), Consent.ON))

    def _write(
        self, by_window: Mapping[Place, Sequence[WindowTurn]], keys: Mapping[bytes, SubjectKeys], people: _People
    ) -> None:
        """Write under the subjects' shared locks, then look again: a lost session has lost its locks too."""
        held = self._windows.held(by_window)
        unknown = [place for place, window in held.items() if place not in self._touched or not window]
        stored = self._stored(unknown, keys)
        additions = {place: (*turns, *stored.get(place, ())) for place, turns in by_window.items()}
        self._edges.scrolled(self._windows.merge(keys, additions, self._edges.record, held))
        try:
            now = load_by_ref(self._connection, people.rows)
            moved = any(now[ref].handle != row.handle for ref, row in people.rows.items())
        except psycopg.Error:
            self._take_back(by_window)
            raise
        if moved:
            self._take_back(by_window)
            raise SubjectMoved
        if len(self._touched) > _MOST_TOUCHED:
            self._touched.clear()
        self._touched.update(by_window)

    def _take_back(self, places: Collection[Place]) -> None:
        self._windows.drop(places)
        self._edges.drop(places)

    def _stored(self, places: Sequence[Place], keys: Mapping[bytes, SubjectKeys]) -> dict[Place, list[WindowTurn]]:
        """What the event log has of conversations that are touched for the first time since the assignment."""
        if not places:
            return {}
        epochs = {(handle, conversation): epoch for handle, epoch, conversation in places}
        given = {
            "handles": [place[0] for place in places],
            "conversations": [place[2] for place in places],
            "most": TURNS,
        }
        found: dict[Place, list[WindowTurn]] = {}
        for handle, conversation, turn, revision, role, at, body, author, log, part, pos in self._connection.execute(
            SQL.last_turns, given
        ).fetchall():
            place = (handle, epochs[handle, conversation], conversation)
            text = "\n".join(segment["text"] for segment in orjson.loads(keys[handle].open(turn, body))["segments"])
            kept = WindowTurn(turn.hex(), revision, role, text, _stamp(at), log, part, pos, (author or b"").hex())
            found.setdefault(place, []).append(kept)
        return found


def _live(turns: Sequence[Heard]) -> Callable[[Pair, SubjectRow], bool]:
    """Whether a new life of an erased person begins: only where something of theirs lies after the fence."""

    def live(pair: Pair, row: SubjectRow) -> bool:
        return any(
            pair in ((turn.tenant, turn.subject), (turn.tenant, turn.author)) and not row.fenced(turn.position, turn.at)
            for turn in turns
        )

    return live


def _window_turn(keys: SubjectKeys, turn: Heard, author: bytes) -> WindowTurn:
    return WindowTurn(
        keys.id("turn", turn.message_id).hex(),
        turn.revision,
        turn.role,
        turn.text,
        _stamp(turn.at),
        *turn.position,
        author=author.hex(),
    )


def _stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
