"""One supervisor a home: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from schemas.errors import ConfigurationError


class AlreadyRunning(ConfigurationError):
    """A stack runs in this home already: see `obelus status`, or end it with `obelus down`."""


def acquire(home: Path) -> IO[str]:
    """Take the home; the lock lasts while the returned file is open.

    Raises:
        AlreadyRunning: another process has it.
    """
    file = (home / "lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise AlreadyRunning(
            f"a stack runs in {home} already: see `obelus status`, or end it with `obelus down`"
        ) from None
    return file


def is_held(home: Path) -> bool:
    """Whether a supervisor has the home now."""
    if not (home / "lock").exists():
        return False
    try:
        acquire(home).close()
    except AlreadyRunning:
        return True
    return False
