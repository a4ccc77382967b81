"""Sums up a receipt's lines by store, for people and scripts that ask "is it gone from there?"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.words import LineStatus, Property

# The first that occurs is what is said of the store: what is left over comes before what is done.
_ORDER = (
    LineStatus.OPEN,
    LineStatus.WITHHELD,
    LineStatus.EXPIRES,
    LineStatus.RETAINED,
    LineStatus.EXTERNAL,
    LineStatus.ERASED,
    LineStatus.NOTHING_FOUND,
    LineStatus.NOT_CONFIGURED,
)
# These are proven by a key's end, so they say something only of lines with sealed content.
_BY_KEY = frozenset({Property.SHREDDED.value, Property.SPOILED.value})


def by_store(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """``{store: {status, proven, before, after}}``; proven is what holds for every line of it."""
    stores: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        stores.setdefault(line["store"], []).append(line)
    return {store: _sum(rows) for store, rows in stores.items()}


def _sum(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    statuses = {row["status"] for row in rows}
    everywhere = set.intersection(*(set(row["proven"]) - _BY_KEY for row in rows))
    keyed = [set(row["proven"]) & _BY_KEY for row in rows if _BY_KEY & set(row["target"])]
    if keyed:
        everywhere |= set.intersection(*keyed)
    return {
        "status": next(status.value for status in _ORDER if status in statuses),
        "proven": sorted(everywhere),
        "before": sum(row["before"] for row in rows),
        "after": sum(row["after"] or 0 for row in rows),
    }
