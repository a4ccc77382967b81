"""Starting a stack in the background, and ending one from another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from deploy import lock, runfile, stale
from deploy.cli.failures import UNREACHABLE
from deploy.cli.output import note
from deploy.embedded.process import trim
from deploy.kept import FAILED
from schemas.home import is_held

_POLL = 0.1
_STOP_WITHIN = 60.0


def up_detached(home: Path, *, no_consumers: bool) -> int:
    """Start a supervisor of its own session and wait until it is ready; give an exit status."""
    lock.acquire(home_made(home)).close()
    log = home / "logs" / "supervisor.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    trim(log)
    with log.open("ab") as output:
        position = output.tell()
        argv = [sys.executable, "-m", "deploy.cli", "up"]
        child = subprocess.Popen(  # noqa: S603
            [*argv, "--no-consumers"] if no_consumers else argv,
            env={**os.environ, "OBELUS_HOME": str(home), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        return _await_ready(child, home, log, position)
    except KeyboardInterrupt:
        child.send_signal(signal.SIGTERM)
        child.wait()
        raise


def home_made(home: Path) -> Path:
    """Make a home that is not there; others may pass through it, but not list it."""
    home.mkdir(parents=True, exist_ok=True, mode=0o711)
    return home


def _await_ready(child: subprocess.Popen[bytes], home: Path, log: Path, position: int) -> int:
    """Repeat what the supervisor says until it is ready or gone."""
    with log.open("r", encoding="utf-8", errors="replace") as words:
        words.seek(position)
        while True:
            ended = child.poll()
            run = runfile.read(home / "run.json")
            for line in words:
                note(line.rstrip())
            if ended is not None:
                return ended or UNREACHABLE
            if run is not None and run.pid == child.pid and run.state == runfile.READY:
                broken = [name for name, one in run.consumers.items() if one.get("state") == FAILED]
                return UNREACHABLE if broken else 0
            time.sleep(_POLL)


def stop(home: Path) -> bool:
    """End the stack of a home and wait until it has let go; tell whether there was one."""
    if not is_held(home):
        return False
    run = runfile.read(home / "run.json")
    deadline = time.monotonic() + _STOP_WITHIN
    if run is not None:
        os.kill(run.pid, signal.SIGTERM)
    while is_held(home):
        if time.monotonic() > deadline and run is not None:
            # Its children are on a leash and end with it.
            os.kill(run.pid, signal.SIGKILL)
        time.sleep(_POLL)
    while run is not None and stale.lives(run.pid):
        time.sleep(_POLL)
    return True
