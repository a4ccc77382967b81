"""Decisions as an operator sees them: what policy said of which candidate, and why (P1). Read only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from stores.database import Connection
from stores.memory_records import stamp
from stores.sealing import SubjectKeys
from stores.sql import load
from stores.vault import Vault

_SQL = load("stores", "decision_records.sql")
_PAGE = 2000
_SHOWN = ("key", "value", "quote")


def decisions(tx: Connection, vault: Vault, tenant: bytes, subject: bytes | None = None) -> Iterator[dict[str, Any]]:
    """Give every decision of a tenant, or of one subject of it, newest last (cli.md, ``decisions``).

    Of a candidate that has expired only the decision is left: its fields are None.

    Args:
        tx: a connection.
        vault: where the keys are; they are asked for page by page.
        tenant: ref of the tenant.
        subject: ref of the subject, or None for all.

    Raises:
        KeyMissing: a live handle has no key.
    """
    given = {"tenant": tenant, "subject": subject, "after": 0, "limit": _PAGE}
    while True:
        rows = tx.execute(_SQL.decisions, given).fetchall()
        keys = vault.data_keys({row[2] for row in rows}) if rows else {}
        yield from (_shown(keys[row[2]], *row[1:2], *row[3:]) for row in rows)
        if len(rows) < _PAGE:
            return
        given["after"] = rows[-1][0]


def _shown(
    keys: SubjectKeys,
    candidate: bytes,
    outcome: str,
    rule: str,
    reasons: list[str],
    policy_version: str,
    at: Any,
    body: bytes | None,
) -> dict[str, Any]:
    return {
        "id": candidate.hex(),
        "candidate": _candidate(keys, candidate, body),
        "outcome": outcome,
        "rule": rule,
        "reasons": reasons,
        "policy_version": policy_version,
        "at": stamp(at),
    }


def _candidate(keys: SubjectKeys, candidate: bytes, body: bytes | None) -> dict[str, Any]:
    if body is None:
        return dict.fromkeys(("type", *_SHOWN))
    draft = orjson.loads(keys.open(candidate, body))
    shown = {"type": draft["type"], **{name: draft["content"][name] for name in _SHOWN}}
    if draft.get("action"):
        shown["action"] = draft["action"]
    return shown
