"""How far a day's erasure is: the batch under way, and what the batches before it have taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from consumers.purger import book
from consumers.purger.expiry.due import SQL
from consumers.purger.narrow.items import Items
from schemas.errors import TransientError
from stores.database import Connection


@dataclass
class Work:
    """As it stands in the erasure's row, in one piece.

    Attributes:
        ids: of the batch under way, empty between batches.
        counts: rows that went with it, by table.
        base: what the batches before it took, by entry of the data map.
        since: when the newest record lay in the log that anything of this day came from.
    """

    ids: Mapping[str, list[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    base: Mapping[str, int] = field(default_factory=dict)
    since: datetime | None = None

    @property
    def under_way(self) -> bool:
        """True while a batch has been cut and is not yet seen to be gone everywhere."""
        return bool(self.ids)

    @property
    def any(self) -> bool:
        """True where anything was taken on this day."""
        return self.since is not None

    def begin(self, items: Items, counts: Mapping[str, int], since: datetime) -> None:
        """A batch was cut."""
        self.ids, self.counts = items.as_json(), dict(counts)
        self.since = max(since, self.since or since)

    def fold(self, base: Mapping[str, int]) -> None:
        """The batch is gone everywhere; ``base`` is what there was of it and of those before."""
        self.ids, self.counts, self.base = {}, {}, base

    def keep(self, conn: Connection, held: book.Held) -> None:
        """Write it.

        Raises:
            TransientError: another session holds the erasure by now; what was cut must not be without its note.
        """
        body: dict[str, Any] = {"ids": self.ids, "counts": self.counts, "base": self.base}
        body["since"] = self.since.isoformat() if self.since else None
        done = conn.execute(SQL.keep, {"id": held.id, "owner": held.owner, "work": Jsonb(body)})
        if done.rowcount != 1:
            raise TransientError("another session holds the erasure")


def work_of(conn: Connection, erasure: bytes) -> Work:
    """Read it."""
    row = conn.execute(SQL.work, (erasure,)).fetchone()
    body = (row[0] if row else None) or {}
    since = body.get("since")
    return Work(
        body.get("ids", {}),
        body.get("counts", {}),
        body.get("base", {}),
        datetime.fromisoformat(since) if since else None,
    )
