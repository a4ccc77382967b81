"""May a turn be kept? Consent as it stood at the turn's place in the log, though the extractor may not be there yet.

The rows tell what the extractor has applied. Words of consent that this app met and the extractor did not reach yet
are applied on top, in order; applying one twice changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from policy.consent import after
from schemas.words import Consent
from streams.sessions.heard import Heard, Ordered

Person = tuple[str, str]
"""Tenant and subject, by natural ids; kept in memory only."""


class Words:
    """Words of consent by person, as long as the extractor has not applied them."""

    def __init__(self) -> None:
        """Start with none."""
        self._pending: defaultdict[Person, list[Ordered]] = defaultdict(list)

    def add(self, word: Ordered) -> None:
        """Remember a word; one that is read again counts once."""
        known = self._pending[word.tenant, word.subject]
        if all(word.position != other.position for other in known):
            known.append(word)
            known.sort(key=lambda other: other.position)

    def forget_applied(self, log: int, applied: Mapping[int, int]) -> None:
        """Drop what the extractor has applied: ``applied`` is its next offset by partition."""
        for person in list(self._pending):
            left = [
                word
                for word in self._pending[person]
                if word.position.log == log and word.position.pos >= applied.get(word.position.part, 0)
            ]
            if left:
                self._pending[person] = left
            else:
                del self._pending[person]

    def permits(self, heard: Heard, subject: Consent, conversation: Consent) -> bool:
        """True where consent of subject and conversation is on at the turn's place.

        Args:
            heard: the turn.
            subject: consent of the subject by its row.
            conversation: consent of the conversation by its row.
        """
        for word in self._pending.get((heard.tenant, heard.subject), ()):
            if word.position >= heard.position:
                break
            if word.conversation is None:
                subject = after(word.action, subject)
            elif word.conversation == heard.conversation:
                conversation = after(word.action, conversation)
        return subject is Consent.ON and conversation is Consent.ON
