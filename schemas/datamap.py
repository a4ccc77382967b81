"""Where personal data lies: every copy that Obelus makes or receives (design, section 4).

A receipt has one line for each entry, in this order, and none is left out. A test looks at the
relational schema, the topics, the key patterns and the files, and fails when something that can
carry a subject is not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from schemas.topics import TOPICS
from schemas.words import Property


class Store(StrEnum):
    """Which part of the system holds an entry; receipts are summed up by it."""

    INBOUND_LOGS = "inbound_logs"
    OWN_TOPICS = "own_topics"
    POSTGRES = "postgres"
    QDRANT = "qdrant"
    REDIS = "redis"
    OWNERS = "owners"
    BACKUPS = "backups"
    FILES = "files"
    VAULT = "vault"
    RECORDS = "records"


@dataclass(frozen=True, slots=True)
class Entry:
    """One class of copies.

    Attributes:
        name: its name in receipts, ``store.what``.
        store: the part that holds it.
        place: the table, topic, key pattern, collection or file it lies in; "" for none.
        eraser: name of the eraser that answers for it.
        target: the properties without which its line is not finished.
        sealed: True where its content is sealed under the subject's key.
    """

    name: str
    store: Store
    place: str
    eraser: str
    target: frozenset[Property]
    sealed: bool = False


_ABSENT = frozenset({Property.FENCED, Property.ABSENT})
_SHREDDED = _ABSENT | {Property.SHREDDED}
_NONE: frozenset[Property] = frozenset()


def _logs() -> tuple[Entry, ...]:
    return tuple(
        Entry(
            f"{'inbound_logs' if topic.inbound else 'own_topics'}.{topic.name}",
            Store.INBOUND_LOGS if topic.inbound else Store.OWN_TOPICS,
            topic.name,
            "logs" if topic.inbound else "topics",
            frozenset({Property.FENCED}) if topic.inbound else _NONE,
        )
        for topic in TOPICS
    )


def _table(name: str, *, sealed: bool = True, eraser: str = "postgres") -> Entry:
    target = _SHREDDED if sealed else _ABSENT
    return Entry(f"postgres.{name}", Store.POSTGRES, name, eraser, target, sealed)


def _record(name: str, place: str) -> Entry:
    return Entry(f"records.{name}", Store.RECORDS, place, "records", _NONE)


TABLES = (
    "traces",
    "lineage",
    "security_events",
    "endings",
    "sources",
    "memory_versions",
    "memories",
    "decisions",
    "candidates",
    "controls",
    "refusals",
    "turns",
)
"""Tables that an erasure of a subject empties of it, children before parents."""

UNSEALED = frozenset({"lineage", "security_events", "endings", "decisions", "refusals"})
"""Tables without content: keyed ids, codes and positions only."""

ENTRIES: tuple[Entry, ...] = (
    *_logs(),
    *(_table(name, sealed=name not in UNSEALED) for name in TABLES),
    _table("subjects", eraser="subjects"),
    Entry(
        "qdrant.memories",
        Store.QDRANT,
        "memories",
        "vectors",
        _ABSENT | {Property.SPOILED},
        sealed=True,
    ),
    _table("vectors", sealed=False, eraser="vectors"),
    Entry("redis.windows", Store.REDIS, "window:{handle}:*", "redis", _SHREDDED, sealed=True),
    Entry("redis.cache", Store.REDIS, "recall:{handle}:*", "redis", _SHREDDED, sealed=True),
    Entry("redis.names", Store.REDIS, "names:{handle}", "redis", _ABSENT),
    _table("derivations", sealed=False, eraser="owners"),
    Entry("owners.artefacts", Store.OWNERS, "artefacts", "owners", _NONE),
    Entry("backups.all", Store.BACKUPS, "", "backups", _NONE),
    Entry("files.logs", Store.FILES, "logs/*.log", "files", _NONE),
    Entry("vault.keys", Store.VAULT, "keys", "vault", _ABSENT),
    _record("consent", "conversation_consents"),
    _record("erasures", "erasures"),
    _record("lines", "erasure_lines"),
    _record("receipts", "receipts"),
    _record("outbox", "outbox"),
    _record("orders", "owner_orders"),
    _record("departed", "departed"),
    _record("dead_letters", "dead_letters"),
    _record("requests", "vault"),
)
"""The map. ``records.*`` is what stays on purpose: proof, fence and consent, content free."""

BY_NAME = {entry.name: entry for entry in ENTRIES}

NO_SUBJECT = frozenset({"logs", "log_cuts", "positions", "accepted_losses", "tenants", "receipt_heads"})
"""Tables with nothing of any one subject; the introspection test allows these besides the map."""


def of(eraser: str) -> tuple[Entry, ...]:
    """Give the entries that one eraser answers for, in the map's order."""
    return tuple(entry for entry in ENTRIES if entry.eraser == eraser)
