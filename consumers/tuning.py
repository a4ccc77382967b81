"""The few numbers of a worker that an operator may change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from schemas.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Tuning:
    """Read from the environment, `OBELUS_` and the name in capitals.

    Attributes:
        slot: this worker's number among those of its consumer; the lowest free one by default.
        batch: most records in a batch; the consumer's own number by default.
        stuck_seconds: without a turn of the loop, after which the process ends itself. Above the
            slowest batch: a model may answer late.
        still_seconds: without a moved position while records wait, after which it ends itself.
    """

    slot: int | None = None
    batch: int | None = None
    stuck_seconds: int = 180
    still_seconds: int = 300

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read what is set.

        Raises:
            ConfigurationError: not a whole number, or below zero.
        """
        found = {}
        for name in cls.__dataclass_fields__:
            text = environment.get(f"OBELUS_{name.upper()}", "")
            if text and not text.isdecimal():
                raise ConfigurationError(f"OBELUS_{name.upper()} must be a whole number")
            if text:
                found[name] = int(text)
        return cls(**found)
