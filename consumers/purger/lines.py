"""Pure: what was observed becomes lines, and lines become the state of an erasure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from schemas import datamap
from schemas.datamap import Store
from schemas.eraser import Eraser, Kind, Line, Observation
from schemas.words import ErasureState, LineStatus, Property, SelectorKind

ONLINE = frozenset({Store.POSTGRES, Store.QDRANT, Store.REDIS, Store.VAULT})
"""Stores that answer readers; `verified` means that these are empty."""

KEY_ENTRY = "vault.keys"
_BY_KEY = frozenset({Property.SHREDDED, Property.SPOILED})
_BY_WORK = frozenset({Property.ABSENT, Property.COMPACTED})
_EMPTY = frozenset({LineStatus.ERASED, LineStatus.NOTHING_FOUND})
_SETTLED = _EMPTY | {LineStatus.RETAINED, LineStatus.WITHHELD}
_FOR_A_PERSON = frozenset({"owner_refused", "owner_late"})
_WHOLE = frozenset({SelectorKind.SUBJECT, SelectorKind.TENANT})


def is_whole(kind: Kind) -> bool:
    """True where the selector ends an epoch and its key."""
    return kind in _WHOLE


def made(
    eraser: Eraser,
    observation: Observation,
    before: int,
    at: datetime,
    kind: Kind = SelectorKind.SUBJECT,
) -> Line:
    """Make the line of one entry from what its store answered after Block."""
    entry = datamap.BY_NAME[observation.entry]
    status = observation.status or _status(observation.remaining, before)
    proven = set(observation.proven)
    if is_whole(kind) and (entry.store in ONLINE or entry.store is Store.INBOUND_LOGS):
        proven.add(Property.FENCED)
    target = entry.target | observation.targets
    if not is_whole(kind):
        # The subject lives on with its key and its place in the logs.
        target &= {Property.ABSENT}
    return Line(
        entry=entry.name,
        store=entry.store.value,
        status=status,
        proven=tuple(sorted(proven)),
        target=tuple(sorted(target)),
        method=observation.method,
        before=before,
        after=observation.remaining,
        observed_at=at,
        eraser=eraser.name,
        version=eraser.version,
        expires_at=observation.expires_at,
        reason=observation.reason or ("left_over" if status is LineStatus.OPEN else None),
    )


def still_open(eraser: Eraser, before: Mapping[str, int], reason: str) -> list[Line]:
    """Make the lines of an eraser that could not do its work; ``reason`` is one fixed word."""
    return [
        Line(
            entry=entry.name,
            store=entry.store.value,
            status=LineStatus.OPEN,
            proven=(),
            target=tuple(sorted(entry.target)),
            method="",
            before=before.get(entry.name, 0),
            after=None,
            observed_at=None,
            eraser=eraser.name,
            version=eraser.version,
            reason=reason,
        )
        for entry in datamap.of(eraser.name)
    ]


def with_key_gone(lines: Iterable[Line]) -> list[Line]:
    """Add what the end of the key proves, where the vault's own line shows that it is gone."""
    lines = list(lines)
    gone = any(line.entry == KEY_ENTRY and line.status in _EMPTY and Property.ABSENT in line.proven for line in lines)
    return [_keyed(line) if gone else line for line in lines]


def with_words(lines: Iterable[Line], tables: Collection[str]) -> list[Line]:
    """Claim no more than `absent` for tables in which a person's words lay under a group's key."""
    return [
        replace(line, target=tuple(sorted(set(line.target) - _BY_KEY)))
        if datamap.BY_NAME[line.entry].place in tables
        else line
        for line in lines
    ]


def _keyed(line: Line) -> Line:
    if line.status not in _EMPTY:
        return line
    return replace(line, proven=tuple(sorted({*line.proven, *(_BY_KEY & set(line.target))})))


def said(lines: Iterable[Line]) -> set[tuple[str, str, tuple[str, ...]]]:
    """What a receipt would say of each entry, apart from times: to see whether a newer one is due."""
    return {(line.entry, line.status.value, tuple(sorted(line.proven))) for line in lines}


def state_of(lines: Sequence[Line]) -> ErasureState:
    """Partial while an online store is not empty, final once every line is final or dated.

    An owner outside who refuses, or is late, is a matter for a person: nothing of ours can go on.
    """
    online = [line for line in lines if Store(line.store) in ONLINE]
    if any(line.status not in _SETTLED for line in online):
        return ErasureState.PARTIAL
    if any(line.reason in _FOR_A_PERSON for line in lines):
        return ErasureState.NEEDS_HUMAN
    return ErasureState.FINAL if all(map(finished, lines)) else ErasureState.VERIFIED


def finished(line: Line) -> bool:
    """True where nothing more is waited for: final, or gone by a date that is known."""
    if line.status in (LineStatus.OPEN, LineStatus.EXTERNAL):
        return False
    proven = set(line.target) <= set(line.proven)
    if line.status is LineStatus.EXPIRES:
        # Without a reason it is only a matter of moments until it goes before its date.
        return line.expires_at is not None and (proven or line.reason is not None)
    return line.status is not LineStatus.ERASED or proven


def can_rise(line: Line) -> bool:
    """True where erasing again may bring on what is missing: a cut that waits for readers, a rebuild for its time."""
    missing = _BY_WORK & (set(line.target) - set(line.proven))
    return bool(missing) and line.reason is None and line.status in (LineStatus.ERASED, LineStatus.EXPIRES)


def _status(remaining: int, before: int) -> LineStatus:
    if remaining:
        return LineStatus.OPEN
    return LineStatus.ERASED if before else LineStatus.NOTHING_FOUND
