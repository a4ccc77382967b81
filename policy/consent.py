"""What a word of consent makes of the consent before it (P7)."""

from __future__ import annotations

from schemas.words import Action, Consent

CONSENT_ACTIONS = frozenset({Action.PAUSE, Action.RESUME, Action.OFF, Action.ON})

_AFTER = {Action.PAUSE: Consent.PAUSED, Action.OFF: Consent.OFF, Action.ON: Consent.ON}


def after(action: Action, before: Consent) -> Consent:
    """Return the consent that an action leaves; ``resume`` lifts a pause and nothing else."""
    if action is Action.RESUME:
        return Consent.ON if before is Consent.PAUSED else before
    return _AFTER[action]
