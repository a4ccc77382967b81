"""Puts the purger together: its connections, and the erasers in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from redis import Redis

from consumers.purger import book
from consumers.purger.expiry.added import Added
from consumers.purger.expiry.batch import Batch
from consumers.purger.expiry.steps import Expiry
from consumers.purger.narrow.erasers import RowsEraser, SomeCacheEraser, SomePointsEraser
from consumers.purger.narrow.steps import Narrow
from consumers.purger.owners.eraser import OwnersEraser
from consumers.purger.proof import Notary
from consumers.purger.round import Beside, Round
from consumers.purger.saga import Saga
from consumers.settling.settle import Rules
from policy.document import load_policy
from schemas.eraser import Eraser
from schemas.settings import Settings
from schemas.words import LineStatus
from stores.cache import redis_client
from stores.database import Connection, connect
from stores.erasers import static
from stores.erasers.keys import KeysEraser
from stores.erasers.points import PointsEraser
from stores.erasers.tables import SubjectsEraser, TablesEraser
from stores.erasers.windows import WindowsEraser
from stores.signing import signing_key
from stores.vault import Vault, open_vault
from stores.vectors import VectorIndex
from streams.client import Admin
from streams.eraser import LogsEraser
from streams.fence import inbound_ends, number_logs, spelled
from streams.topics import admin_client


@dataclass
class Link:
    """A connection in autocommit mode that is opened when needed and again when it broke.

    ``session`` is the name under which the open one holds erasures.
    """

    dsn: str
    name: str
    session: str = field(default="", init=False)
    _conn: Connection | None = field(default=None, init=False)
    _opening: Lock = field(default_factory=Lock, init=False)

    def __call__(self) -> Connection:
        """Give the open connection."""
        with self._opening:
            if self._conn is None or self._conn.closed:
                self._conn = connect(self.dsn, autocommit=True, application=self.name)
                self.session = book.named(self._conn)
            return self._conn

    def close(self) -> None:
        """Close it, where it is open."""
        if self._conn is not None:
            self._conn.close()


@dataclass
class Parts:
    """What the saga works with; one of these a thread.

    Attributes:
        erasing: the saga's own connection, in transactions now and then.
        pointing: for the index's ledger, which is emptied at the same time.
        observing: never in a transaction.
        pool: for what is done beside.
    """

    settings: Settings
    erasing: Link
    pointing: Link
    observing: Link
    vault: Vault
    admin: Admin
    redis: Redis
    index: VectorIndex
    _made: tuple[tuple[object, ...], Saga] | None = field(default=None, init=False)
    _numbers: dict[str, int] = field(default_factory=dict, init=False)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "round"), init=False)

    @classmethod
    def open(cls, settings: Settings) -> Parts:
        """Open what opens lazily; nothing is contacted yet but the vault's file."""
        return cls(
            settings,
            Link(settings.database, "obelus-purger"),
            Link(settings.database, "obelus-purger-points"),
            Link(settings.database, "obelus-purger-observing"),
            open_vault(settings),
            admin_client(settings),
            redis_client(settings),
            VectorIndex(settings),
        )

    def erasers(self) -> Sequence[Eraser]:
        """Every eraser of the map, in the order of the design; keys last."""
        return (
            LogsEraser.of(self.settings, self.admin, self.observing, self.redis),
            static.topics(),
            TablesEraser(self.erasing, self.observing),
            SubjectsEraser(self.observing),
            PointsEraser(self.index, self.pointing, self.observing),
            WindowsEraser(self.redis, self.observing),
            self._owners(),
            static.backups(),
            static.files(),
            KeysEraser(self.vault),
            static.records(),
        )

    def narrow_erasers(self) -> Sequence[Eraser]:
        """The erasers of a selector that leaves the subject alive."""
        lives = "the subject lives on"
        return (
            LogsEraser.of(self.settings, self.admin, self.observing, self.redis),
            static.topics(),
            RowsEraser(self.observing),
            static.Standing("subjects", LineStatus.RETAINED, lives, "subject_lives"),
            SomePointsEraser(self.index, self.erasing),
            SomeCacheEraser(self.redis, self.vault, self.erasing),
            self._owners(),
            static.backups(),
            static.files(),
            static.Standing("vault", LineStatus.RETAINED, lives, "subject_lives"),
            static.records(),
        )

    def _owners(self) -> Eraser:
        return OwnersEraser(self.vault, self.erasing, self.observing)

    def ends(self) -> dict[str, int]:
        """Where every inbound partition ends now, as a fence."""
        found = inbound_ends(self.admin)
        if not all(end.topic_id in self._numbers for end in found):
            self._numbers |= number_logs(self.observing(), found)
        return spelled(found, self._numbers)

    def session(self) -> str:
        """The name under which the saga's own connection holds erasures."""
        self.erasing()
        return self.erasing.session

    def saga(self) -> Saga:
        """The saga over these parts, made anew only where one of them was."""
        conn = self.erasing()
        parts = (conn, self.redis, self.index)
        if self._made is None or any(a is not b for a, b in zip(self._made[0], parts, strict=True)):
            # Reading the policy alone takes longer than erasing a small subject.
            policy = load_policy(self.settings.policy)
            rules = Rules.of(policy)
            narrow = Narrow(conn, self.vault, self.admin, rules, self.ends)
            notary = Notary(signing_key(self.settings), self.vault)
            some = self.narrow_erasers()
            batch = Batch(conn, self.vault, rules, policy.retention)
            expiry = Expiry(conn, batch, [Added(one, self.erasing) for one in some])
            session, round_ = self.erasing.session, self._round(conn)
            saga = Saga(conn, session, self.vault, self.erasers(), some, narrow, expiry, notary, round_, self.ends)
            self._made = (parts, saga)
        return self._made[1]

    def _round(self, conn: Connection) -> Round:
        index = Beside(frozenset({"vectors"}), self.pointing)
        others = Beside(frozenset({"logs", "subjects", "redis"}), self.observing)
        return Round(conn, self.pool, (index, others))

    def close(self) -> None:
        """Close every connection."""
        self.pool.shutdown()
        for link in (self.erasing, self.pointing, self.observing):
            link.close()
        self.admin.close()
        self.vault.close()
        self.redis.close()
        self.index.close()
