"""Who asks: a bearer token fixes tenant, role and, for a person, the subject (R12). A body never widens it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall.problems import Problem
from schemas.ids import check_id
from schemas.words import ApiRole

# What each role may do (P8). An agent reads; it cannot confirm its own suggestions or delete.
_ALLOWED: Mapping[str, frozenset[ApiRole]] = {
    "recall": frozenset({ApiRole.AGENT, ApiRole.PERSON, ApiRole.OPERATOR}),
    "memories": frozenset({ApiRole.AGENT, ApiRole.PERSON, ApiRole.OPERATOR}),
    "controls": frozenset({ApiRole.PERSON, ApiRole.OPERATOR}),
    "forget": frozenset({ApiRole.PERSON, ApiRole.COMPLIANCE, ApiRole.OPERATOR}),
    "erasures": frozenset({ApiRole.PERSON, ApiRole.COMPLIANCE, ApiRole.OPERATOR}),
    # What outside owners made from a tenant's memories: theirs to read who act for it.
    "artefacts": frozenset({ApiRole.COMPLIANCE, ApiRole.OPERATOR}),
    "export": frozenset({ApiRole.PERSON, ApiRole.COMPLIANCE, ApiRole.OPERATOR}),
    "keys": frozenset(ApiRole),
}


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows. ``subject`` None means any subject of the tenant."""

    tenant: str
    role: ApiRole
    subject: str | None = None

    def permit(self, deed: str) -> None:
        """Refuse a deed that the role may not do.

        Raises:
            Problem: 403.
        """
        if self.role not in _ALLOWED[deed]:
            raise Problem(403, "forbidden", "The role of this token does not allow this.")

    def scoped(self, subject: str | None, tenant: str | None = None) -> str:
        """Return the subject that a request is about; scope in a request may repeat the token's, never differ.

        Raises:
            Problem: 403 where it differs, 422 where a subject is needed and neither names one, or it is no id.
        """
        if tenant is not None and tenant != self.tenant:
            raise Problem(403, "scope_differs", "The tenant is fixed by the token.")
        if self.subject is not None:
            if subject is not None and subject != self.subject:
                raise Problem(403, "scope_differs", "The subject is fixed by the token.")
            return self.subject
        if subject is None:
            raise Problem(422, "invalid_request", "subject is required.")
        try:
            return check_id(subject)
        except ValueError:
            raise Problem(422, "invalid_request", "subject is not an id.") from None


class Tokens:
    """Tokens of a file ``{token: {tenant, role, subject?}}``, read again when the file changes.

    Only digests are kept, so that neither a dump of this process nor the time a comparison takes tells a token.
    """

    def __init__(self, path: Path) -> None:
        """Take the file's place; it is read at the first request."""
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._grants: dict[bytes, Grant] = {}

    def grant(self, header: str | None) -> Grant:
        """Return what the ``Authorization`` header allows.

        Raises:
            Problem: 401 without a known bearer token.
        """
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Problem(401, "unauthorized", "A bearer token is required.")
        self._refresh()
        found = self._grants.get(_digest(token.strip()))
        if found is None:
            raise Problem(401, "unauthorized", "This token is not known.")
        return found

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
        except OSError:
            # No file means no token is valid any more, not that the old ones stay.
            self._grants, self._stamp = {}, None
            return
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._grants, self._stamp = _read(self._path), stamp


def _read(path: Path) -> dict[bytes, Grant]:
    try:
        document = json.loads(path.read_text("utf-8"))
        entries = document.items()
    except (OSError, ValueError, AttributeError):
        # A half-written or wrong file lets nobody in.
        return {}
    return {_digest(token): grant for token, entry in entries if (grant := _grant(entry)) is not None}


def _grant(entry: Mapping[str, Any]) -> Grant | None:
    """A token whose scope is no id (a wildcard, say) permits nothing."""
    try:
        subject = entry.get("subject")
        return Grant(
            check_id(entry["tenant"]),
            ApiRole(entry["role"]),
            None if subject is None else check_id(subject),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
