"""One supervisor a home: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO

from schemas.errors import ConfigurationError
from schemas.home import LOCK

_PAUSE = 0.05


class AlreadyRunning(ConfigurationError):
    """A stack runs in this home already: see `obelus status`, or end it with `obelus down`."""


def acquire(home: Path, patience: float = 0.5) -> IO[str]:
    """Take the home; the lock lasts while the returned file is open.

    Args:
        home: an existing folder.
        patience: seconds after which whoever holds it is more than a command that asks.

    Raises:
        AlreadyRunning: another process has it.
    """
    file = (home / LOCK).open("a+")
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() > until:
                file.close()
                break
        time.sleep(_PAUSE)
    raise AlreadyRunning(f"a stack runs in {home} already: see `obelus status`, or end it with `obelus down`")
