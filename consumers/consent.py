"""Consent as it changes along the log (P7). Everything must be on: tenant, subject, author, conversation."""

from __future__ import annotations

from collections.abc import Mapping

from policy.consent import after
from schemas.words import Action, Consent
from stores.subjects import SubjectRow

# Taking something back or out of use is always heard; these bring something back or in.
WRITING_ACTIONS = frozenset({Action.CONFIRM, Action.CORRECT, Action.ROLLBACK, Action.PRE_COMPRESS})


class Consents:
    """Consent of everybody in one batch; what changes is kept apart from what was read."""

    __slots__ = ("_conversations", "_subjects", "_tenants", "changed", "changed_conversations")

    def __init__(
        self, subjects: Mapping[bytes, SubjectRow], conversations: Mapping[tuple[bytes, bytes], Consent]
    ) -> None:
        """Start from what the stores say; a missing conversation means on."""
        self._tenants = {row.tenant: row.tenant_consent for row in subjects.values()}
        self._subjects = {ref: row.consent for ref, row in subjects.items()}
        self._conversations = dict(conversations)
        self.changed: dict[bytes, Consent] = {}
        self.changed_conversations: dict[tuple[bytes, bytes], Consent] = {}

    def permits(self, tenant: bytes, subject: bytes, author: bytes, conversation: bytes | None) -> bool:
        """True where nothing that this author says to this subject, there, is held back."""
        on = Consent.ON
        return (
            self._subjects[subject] is on
            and self._tenants[tenant] is on
            and (author == subject or self._subjects[author] is on)
            and (conversation is None or self._conversations.get((subject, conversation), on) is on)
        )

    def apply(self, action: Action, subject: bytes, conversation: bytes | None) -> None:
        """Carry out pause, resume, off or on, for a subject or one conversation of it."""
        if conversation is None:
            before = self._subjects[subject]
            self._subjects[subject] = self.changed[subject] = after(action, before)
            return
        place = (subject, conversation)
        before = self._conversations.get(place, Consent.ON)
        self._conversations[place] = self.changed_conversations[place] = after(action, before)
