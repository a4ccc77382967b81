"""What is past its retention at the start of a day, and whose erasure of that day takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from consumers.purger.decide import DEADLINE
from policy.document import Retention
from stores.database import Connection, value
from stores.sql import load
from stores.vault import Vault

SQL = load("consumers.purger.expiry", "expiry.sql")

TENANTS_AT_ONCE = 1000


class What(StrEnum):
    """What can be past its time, in the order in which it is taken: a turn waits for its candidates."""

    CANDIDATES = "candidates"
    MEMORIES = "memories"
    TURNS = "turns"

    @property
    def batch(self) -> int:
        """How many one batch takes; the locks of as many people are held for one transaction."""
        return 1000 if self is What.CANDIDATES else 250


@dataclass(frozen=True, slots=True)
class Due:
    """One thing that is due, with the lock of its person."""

    id: bytes
    lock: int
    handle: bytes


def cutoffs(midnight: datetime, retention: Retention) -> dict[str, datetime]:
    """Before which instant each kind must lie to be due on a day.

    Args:
        midnight: when the day began, UTC. What becomes due during a day is taken on the next one.
        retention: of the policy. A candidate carries its own end already.
    """
    return {
        What.CANDIDATES: midnight,
        What.MEMORIES: midnight - timedelta(days=retention.expired_days),
        What.TURNS: midnight - timedelta(days=retention.event_log_days),
    }


def open_days(conn: Connection, vault: Vault, retention: Retention) -> list[bytes]:
    """Write down today's erasure of every tenant with something due; give those that have work to do.

    Args:
        conn: in autocommit mode.
        vault: names the erasures.
        retention: of the policy.
    """
    midnight: datetime = value(conn, SQL.midnight)
    values = cutoffs(midnight, retention) | {"limit": TENANTS_AT_ONCE}
    tenants = [row[0] for row in conn.execute(SQL.tenants, values).fetchall()]
    if not tenants:
        return []
    ids = [vault.day_id(tenant, midnight.date()) for tenant in tenants]
    days = {"ids": ids, "tenants": tenants, "cutoff": midnight, "deadline": midnight + DEADLINE}
    return [row[0] for row in conn.execute(SQL.open, days).fetchall()]


def due(conn: Connection, what: What, tenant: bytes, midnight: datetime, retention: Retention) -> Sequence[Due]:
    """Read the next of a kind that a tenant's erasure of a day takes."""
    values = cutoffs(midnight, retention) | {"tenant": tenant, "limit": what.batch}
    return [Due(*row) for row in conn.execute(getattr(SQL, f"due_{what}"), values).fetchall()]
