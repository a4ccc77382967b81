"""What the vault keeps besides keys: tombstones, deletion requests, fences, chain heads.

Nothing of this is in a backup of the other stores, so that a restore can be compared with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime

import orjson

from stores.sealing import RootKey
from stores.vault_file import CHUNK, VaultFile

LEDGER_TABLES = (
    "CREATE TABLE IF NOT EXISTS tombstones (ref BLOB PRIMARY KEY, expires INTEGER) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS requests (id BLOB PRIMARY KEY, tenant BLOB NOT NULL,"
    " digest BLOB NOT NULL, state TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS fences (subject BLOB NOT NULL, epoch INTEGER NOT NULL, handle BLOB,"
    " fence BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (subject, epoch)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS heads (tenant BLOB PRIMARY KEY, seq INTEGER NOT NULL,"
    " digest BLOB NOT NULL) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class Request:
    """A deletion request as the vault keeps it; ``body`` is opened, ``digest`` is of its selector."""

    id: bytes
    tenant: bytes
    digest: bytes
    state: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Fence:
    """A block that took place: the epoch that ended, its handle, and the fence (``log/part`` to offset)."""

    subject: bytes
    epoch: int
    handle: bytes | None
    fence: dict[str, int]


@dataclass(frozen=True, slots=True)
class Head:
    """The newest receipt of a tenant: its number (from 1) and digest."""

    seq: int
    digest: bytes


class Ledger:
    """The part of the vault that holds no keys."""

    def __init__(self, file: VaultFile, root: RootKey) -> None:
        """Take an opened file and the root key."""
        self._file = file
        self._root = root

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one write of all that this thread writes meanwhile: durable when it ends, nothing when it raises."""
        with self._file.write():
            yield

    # Tombstones

    def add_tombstones(self, refs: Iterable[bytes], expires: datetime | None = None) -> None:
        """Remember erased things by their keyed hash, for ever or until a date."""
        until = int(expires.timestamp()) if expires else None
        with self._file.write() as tx:
            tx.executemany("INSERT OR REPLACE INTO tombstones VALUES (?, ?)", [(r, until) for r in refs])

    def has_tombstones(self, refs: Iterable[bytes]) -> set[bytes]:
        """Return those of the refs that were erased before."""
        sql = "SELECT ref FROM tombstones WHERE ref IN ({})"
        return {row[0] for row in self._file.read_in(sql, set(refs))}

    def drop_tombstones(self, now: datetime) -> int:
        """Remove tombstones that have expired; return how many."""
        with self._file.write() as tx:
            sql = "DELETE FROM tombstones WHERE expires <= ?"
            return tx.execute(sql, (int(now.timestamp()),)).rowcount

    # Deletion requests

    def record_request(self, request: bytes, tenant: bytes, digest: bytes, body: bytes) -> bytes:
        """Keep a request once; ``body`` is sealed under the root key.

        Returns:
            The digest kept under this id: another one than given means that the id was used for
            another selector.
        """
        sealed = self._root.wrap(request, body)
        with self._file.write() as tx:
            tx.execute(
                "INSERT OR IGNORE INTO requests VALUES (?, ?, ?, 'planned', ?, ?)",
                (request, tenant, digest, sealed, int(time.time())),
            )
            kept = tx.execute("SELECT digest FROM requests WHERE id = ?", (request,)).fetchone()
        return bytes(kept[0])

    def set_request_state(self, request: bytes, state: str) -> None:
        """Note how far a request has come."""
        with self._file.write() as tx:
            tx.execute("UPDATE requests SET state = ? WHERE id = ?", (state, request))

    def request(self, request: bytes) -> Request | None:
        """Return one request, or None."""
        rows = self._file.read("SELECT id, tenant, digest, state, body FROM requests WHERE id = ?", (request,))
        return self._opened(rows[0]) if rows else None

    def requests(self) -> Iterator[Request]:
        """Give every request, paged, in order of id."""
        last = b""
        while True:
            page = self._file.read(
                "SELECT id, tenant, digest, state, body FROM requests WHERE id > ? ORDER BY id LIMIT ?",
                (last, CHUNK),
            )
            if not page:
                return
            yield from map(self._opened, page)
            last = page[-1][0]

    def _opened(self, row: tuple[bytes, bytes, bytes, str, bytes]) -> Request:
        request, tenant, digest, state, body = row
        return Request(request, tenant, digest, state, self._root.unwrap(request, body))

    # Fences

    def record_fences(self, fences: Iterable[Fence]) -> None:
        """Keep blocks, before PostgreSQL commits them; a repeated block of the same epoch replaces the first."""
        now = int(time.time())
        rows = [(f.subject, f.epoch, f.handle, orjson.dumps(f.fence), now) for f in fences]
        with self._file.write() as tx:
            tx.executemany("INSERT OR REPLACE INTO fences VALUES (?, ?, ?, ?, ?)", rows)

    def fences(self, subjects: Iterable[bytes]) -> list[Fence]:
        """Return every block of the given subjects, oldest epoch first."""
        sql = "SELECT subject, epoch, handle, fence FROM fences WHERE subject IN ({}) ORDER BY epoch"
        rows = self._file.read_in(sql, set(subjects))
        return [Fence(subject, epoch, handle, orjson.loads(fence)) for subject, epoch, handle, fence in rows]

    # Receipt chain

    def chain_id(self, tenant: bytes) -> bytes:
        """Return 16 bytes that name a tenant's chain of receipts without naming the tenant."""
        return self._root.derive(b"receipt chain/" + tenant)[:16]

    def day_id(self, tenant: bytes, day: date) -> bytes:
        """Return 16 bytes that name what expires for a tenant (by ref) on a day, the same whoever asks."""
        return self._root.derive(b"expiry/" + tenant + day.isoformat().encode())[:16]

    def chain_head(self, tenant: bytes) -> Head | None:
        """Return the newest receipt of a tenant (by ref), None before the first."""
        rows = self._file.read("SELECT seq, digest FROM heads WHERE tenant = ?", (tenant,))
        return Head(*rows[0]) if rows else None

    def advance_head(self, tenant: bytes, previous: Head | None, digest: bytes) -> Head | None:
        """Chain a receipt after ``previous``; None where another one got in between: read and repeat."""
        seq = previous.seq + 1 if previous else 1
        with self._file.write() as tx:
            if previous is None:
                sql = "INSERT OR IGNORE INTO heads VALUES (?, 1, ?)"
                done = tx.execute(sql, (tenant, digest)).rowcount
            else:
                sql = "UPDATE heads SET seq = ?, digest = ? WHERE tenant = ? AND seq = ? AND digest = ?"
                done = tx.execute(sql, (seq, digest, tenant, previous.seq, previous.digest)).rowcount
        return Head(seq, digest) if done else None
