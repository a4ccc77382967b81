"""Pure: what becomes of each deletion request of a batch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from schemas.words import ErasureState, SelectorKind

DEADLINE = timedelta(days=30)
GRACE = timedelta(seconds=float(os.environ.get("OBELUS_TENANT_GRACE_SECONDS", 24 * 3600)))
"""A whole tenant is destroyed only after this, so that `forget --cancel` can stop it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A deletion request with every natural id already turned into a keyed reference.

    Attributes:
        id: the erasure's id, a keyed hash of the caller's request id.
        selector: keyed digest of the selector.
        tag: HMAC under the caller's nonce, or None.
        requested_at: the broker's time.
    """

    id: bytes
    tenant: bytes
    subject: bytes | None
    lock: int | None
    kind: SelectorKind | None
    selector: bytes
    tag: bytes | None
    requested_at: datetime
    deadline: datetime | None
    expected_digest: str | None
    cancel: bool
    cause: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """An erasure that is already in the book."""

    selector: bytes
    state: ErasureState


@dataclass(frozen=True, slots=True)
class Decided:
    """Which requests are new, which are cancelled, and which are refused with what reason."""

    accepted: tuple[Request, ...] = ()
    cancelled: tuple[bytes, ...] = ()
    refused: tuple[tuple[Request, str], ...] = ()
    repeated: int = field(default=0)


def decide(requests: Sequence[Request], known: Mapping[bytes, Known]) -> Decided:
    """Accept a request once; the same id with another selector is refused (`request_conflict`)."""
    book = dict(known)
    accepted: list[Request] = []
    cancelled: list[bytes] = []
    refused: list[tuple[Request, str]] = []
    repeated = 0
    for request in requests:
        before = book.get(request.id)
        if request.cancel:
            if before is None:
                refused.append((request, "unknown_request"))
            elif before.state is ErasureState.CANCELLED:
                repeated += 1
            elif before.state is ErasureState.PLANNED:
                cancelled.append(request.id)
                book[request.id] = Known(before.selector, ErasureState.CANCELLED)
            else:
                refused.append((request, "too_late"))
        elif before is None:
            if request.kind is SelectorKind.TENANT and request.expected_digest is None:
                refused.append((request, "plan_required"))
                continue
            accepted.append(request)
            book[request.id] = Known(request.selector, ErasureState.PLANNED)
        elif before.selector == request.selector:
            repeated += 1
        else:
            refused.append((request, "request_conflict"))
    return Decided(tuple(accepted), tuple(cancelled), tuple(refused), repeated)


def deadline_of(request: Request) -> datetime:
    """The caller's deadline where there is one, else thirty days from the request."""
    return request.deadline or request.requested_at + DEADLINE


def not_before(request: Request) -> datetime | None:
    """When destroying may begin; None for at once."""
    return request.requested_at + GRACE if request.kind is SelectorKind.TENANT else None
