"""Whether the home has a supervisor: its lock ends with its process, however that ends."""

from __future__ import annotations

import fcntl
from pathlib import Path

LOCK = "lock"
"""The file whose lock the supervisor holds, under the home."""


def is_held(home: Path) -> bool:
    """Whether a supervisor has the home now; what it wrote there is of use only as long.

    Asked by a shared lock, so that those who ask do not see each other.
    """
    try:
        with (home / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
