"""Named points of the saga at which a test can have this process killed or stopped."""

from __future__ import annotations

from consumers.faults import SAGA, Faults

_FAULTS = Faults.from_environment()


def passing(step: str) -> None:
    """Pass a step; ``OBELUS_FAULT=purger_<step>`` ends the process here."""
    _FAULTS.at(SAGA + step)
