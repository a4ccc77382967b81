"""Children of a supervisor that was killed: gone before the next one starts anything.

The kernel ends them by itself (see `deploy.embedded.leash`); this waits for it, and insists where
it has not happened. A process counts only if it is ours beyond doubt: same number, same birth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from deploy.embedded.secret import write_private

_PATIENCE = 6.0


def remember(file: Path, pids: Iterable[int]) -> None:
    """Write down which processes were started."""
    births = {str(pid): _birth(pid) for pid in pids}
    write_private(file, json.dumps({pid: at for pid, at in births.items() if at}))


def clear(file: Path) -> None:
    """See to it that none of the remembered processes lives."""
    import psutil

    try:
        known: dict[str, float] = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return
    left = [psutil.Process(int(pid)) for pid, at in known.items() if _birth(int(pid)) == at]
    _, left = psutil.wait_procs(left, timeout=_PATIENCE)
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=_PATIENCE)
    file.unlink()


def lives(pid: int) -> bool:
    """Whether a process does anything still; one that only waits to be noticed does not."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _birth(pid: int) -> float | None:
    import psutil

    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None
