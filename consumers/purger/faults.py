"""Named points of the saga at which a test can have this process killed."""

from __future__ import annotations

import os
import signal
from collections import Counter

_passed: Counter[str] = Counter()


def passing(step: str) -> None:
    """Die by SIGKILL where ``OBELUS_FAULT`` is ``purger_<step>`` or ``purger_<step>:<nth pass>``."""
    wanted = os.environ.get("OBELUS_FAULT", "")
    name, _, nth = wanted.partition(":")
    if name != f"purger_{step}":
        return
    _passed[step] += 1
    if _passed[step] == int(nth or 1):
        os.kill(os.getpid(), signal.SIGKILL)
