"""What every store holds of one person now, and of that person's erased lives."""

from __future__ import annotations

from typing import Any

from consumers.purger.registry import Parts
from schemas import datamap
from schemas.eraser import Scope
from schemas.settings import Settings
from schemas.words import SelectorKind

_ROW = "SELECT handle, epoch, consent, fenced_at IS NOT NULL FROM subjects WHERE ref = %s"
_ENDED = "SELECT DISTINCT handle, epoch FROM erasures WHERE subject = %s AND handle IS NOT NULL"


def what_is_left(settings: Settings, tenant: str, subject: str) -> dict[str, Any]:
    """Ask each store for a person's items.

    Returns:
        ``{state, epoch, consent, counts: {store: n}, erased_but_there: {store: n}}``; state is
        ``live``, ``erased`` or ``unknown``, and the last field should be empty.
    """
    parts = Parts.open(settings)
    try:
        lookup = parts.vault.lookup(tenant)
        ref = lookup.subject(subject) if lookup else b""
        row = parts.observing().execute(_ROW, (ref,)).fetchone()
        ended = parts.observing().execute(_ENDED, (ref,)).fetchall()
        handle, epoch, consent, fenced = row or (None, 0, None, False)
        state = "live" if handle else "erased" if fenced else "unknown"
        left: dict[str, int] = {}
        for old, old_epoch in ended:
            if old != handle:
                _add(left, _counts(parts, ref, old, old_epoch))
        counts: dict[str, int] = {}
        _add(counts, _counts(parts, ref, handle, epoch))
        return {
            "state": state,
            "epoch": epoch,
            "consent": consent,
            "counts": counts,
            "erased_but_there": {store: n for store, n in left.items() if n},
        }
    finally:
        parts.close()


def _counts(parts: Parts, ref: bytes, handle: bytes | None, epoch: int) -> dict[str, int]:
    scope = Scope(b"", SelectorKind.SUBJECT, b"", ref, handle=handle, epoch=epoch)
    found: dict[str, int] = {}
    for eraser in parts.erasers():
        if eraser.name in ("postgres", "vectors", "redis", "vault"):
            found |= {seen.entry: seen.remaining for seen in eraser.observe(scope)}
    return found


def _add(total: dict[str, int], counts: dict[str, int]) -> None:
    for entry, count in counts.items():
        store = datamap.BY_NAME[entry].store.value
        total[store] = total.get(store, 0) + count
