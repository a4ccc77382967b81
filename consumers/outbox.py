"""What a tick decided to tell the log, kept in PostgreSQL until Kafka has it: at least once.

tick's transaction: rows + outbox ─▶ Kafka transaction ─▶ delete from outbox
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from consumers.outlet import Outlet
from consumers.session import Session
from stores.sql import load
from streams.codec import Message

_SQL = load("consumers", "outbox.sql")
_LIMIT = 1000


def put(tx: psycopg.Connection[Any], consumer: str, messages: Sequence[Message]) -> None:
    """Keep messages, in the transaction that decided on them."""
    if messages:
        tx.execute(
            _SQL.put,
            {
                "consumer": consumer,
                "topics": [item.topic for item in messages],
                "keys": [item.key for item in messages],
                "types": [item.type for item in messages],
                "ids": [item.event_id for item in messages],
                "bodies": [item.body for item in messages],
            },
        )


def flush(session: Session, outlet: Outlet, consumer: str, membership: Any) -> int:
    """Publish what is kept, oldest first, and give how many messages that were.

    Raises:
        UnknownOutcome: the Kafka transaction failed; what it held is still kept.
    """
    count = 0
    while True:
        with session.transaction() as tx:
            rows = tx.execute(_SQL.take, {"consumer": consumer, "limit": _LIMIT}).fetchall()
            if rows:
                outlet.publish([Message(*row[1:]) for row in rows], [], membership)
                tx.execute(_SQL.remove, {"ids": [row[0] for row in rows]})
        count += len(rows)
        if len(rows) < _LIMIT:
            return count
