"""The one error tree. The three branches decide what a worker does; the docstring is the message.

ObelusError
├── TransientError           pause, retry in place with backoff, keep polling
│   ├── PartUnavailable      a store or the broker cannot be reached
│   ├── PositionMoved        another worker owns the partition: resynchronise
│   ├── SubjectMoved         handle or epoch changed under us: prepare the batch again
│   └── KeyMissing           no key for a live epoch: fail closed, wait for the vault
├── PermanentError           dead letter by position, reason only, never content
│   ├── InvalidEvent         the bytes are no event of ours (has .reason, a fixed word)
│   └── Refused              understood and not allowed
├── UnknownOutcome           the call may or may not have happened: observe, then repeat
└── ConfigurationError       stop: a person must change a setting
    └── LostRange            a stored position lies outside the log: names the lost range
"""

from __future__ import annotations


class ObelusError(Exception):
    """Something went wrong in Obelus."""

    def __init__(self, message: str | None = None) -> None:
        """Take the first line of the class docstring where no message is given."""
        doc = (type(self).__doc__ or "").strip().splitlines()[0]
        super().__init__(message or doc)


class TransientError(ObelusError):
    """A passing fault; the same work is tried again in place."""


class PartUnavailable(TransientError):
    """A part of the stack cannot be reached; is it running (`obelus status`)?"""


class PositionMoved(TransientError):
    """The stored position is not the one this worker last saw; another worker moved it."""


class SubjectMoved(TransientError):
    """A subject's handle or epoch changed between preparation and lock; the batch is prepared again."""


class KeyMissing(TransientError):
    """The vault has no key for a live handle; nothing is written until it is back."""


class PermanentError(ObelusError):
    """Repeating will not help; the position becomes a dead letter.

    ``reason`` is one fixed word of the contract and carries no content.
    """

    def __init__(self, reason: str, message: str | None = None) -> None:
        """Keep the fixed word apart from the readable message."""
        super().__init__(message or reason)
        self.reason = reason


class InvalidEvent(PermanentError):
    """The bytes at this position are not an event that this version understands."""


class Refused(PermanentError):
    """The request was understood and is not allowed."""


class UnknownOutcome(ObelusError):
    """The answer was lost: the call may have been applied. Observe, then repeat."""


class ConfigurationError(ObelusError):
    """A setting is missing or wrong."""


class LostRange(ConfigurationError):
    """A stored position lies outside what the log still holds."""
