"""What a batch holds of outside owners' words."""

from __future__ import annotations

from dataclasses import dataclass, field

from consumers.purger.owners.decide import UNKNOWN_PARENT, Answer, State, decide
from consumers.purger.owners.registration import Registration, registration
from schemas.errors import InvalidEvent
from schemas.events import Derivation, ErasureAck, Event
from stores.vault import Vault
from streams.codec import Position

__all__ = ["Heard", "State", "decide"]


@dataclass(slots=True)
class Heard:
    """Registrations and answers, in order."""

    registrations: list[Registration] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def take(self, position: Position, event: Event, vault: Vault) -> None:
        """Take one event; what is no owner's is passed over.

        Raises:
            InvalidEvent: a parent is malformed, or belongs to a tenant that nobody has heard of.
        """
        if isinstance(event, ErasureAck):
            self.answers.append(Answer(position, event))
        elif isinstance(event, Derivation):
            lookup = vault.lookup(event.tenant)
            if lookup is None:
                raise InvalidEvent(UNKNOWN_PARENT)
            self.registrations.append(registration(position, event, lookup))
