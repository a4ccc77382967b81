"""A plan for a request that nobody has made yet; writes nothing."""

from __future__ import annotations

from consumers.purger import book
from consumers.purger.lines import is_whole
from consumers.purger.narrow.steps import estimated
from consumers.purger.planning import counted, digest_of
from consumers.purger.registry import Parts
from consumers.purger.tenant import many
from schemas.eraser import Scope
from schemas.events import Selector
from schemas.settings import Settings
from schemas.words import SelectorKind
from stores.database import translate
from stores.sealing import lock_of


def as_requested(settings: Settings, tenant: str, selector: Selector) -> tuple[dict[str, int], str]:
    """Count by map entry what a selector would meet now, and give the plan's digest."""
    parts = Parts.open(settings)
    try:
        lookup = parts.vault.lookup(tenant)
        ref = lookup.subject(selector.subject) if lookup and selector.subject else None
        with translate():
            row = parts.observing().execute(book.SQL.subject_now, (ref,)).fetchone()
        handle, epoch, _ = row or (None, 0, {})
        scope = Scope(
            erasure=b"",
            kind=selector.kind,
            tenant=parts.vault.tenant_ref(tenant),
            subject=ref,
            lock=lock_of(ref) if ref else 0,
            handle=handle,
            epoch=epoch,
        )
        if selector.kind is SelectorKind.TENANT:
            return counted(many(parts.erasers(), parts.observing(), parts.vault), scope)
        if is_whole(selector.kind):
            return counted(parts.erasers(), scope)
        counts = estimated(parts.observing(), parts.vault, handle, selector)
        return counts, digest_of(counts, scope)
    finally:
        parts.close()
