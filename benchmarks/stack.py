"""A stack of its own for a benchmark: the hash embedder, a throw-away home, everything stopped at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.settings import Settings


def command(home: Path, *words: str) -> str:
    """Run an `obelus` command against ``home`` and return its standard output.

    Raises:
        subprocess.CalledProcessError: it ended with another status than 0.
    """
    environment = os.environ | {"OBELUS_HOME": str(home), "OBELUS_EMBEDDINGS": "hash"}
    words = (sys.executable, "-m", "deploy.cli", *words)
    done = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return done.stdout


@contextmanager
def home() -> Iterator[Path]:
    """A throw-away home with a short path (sockets have a length limit)."""
    with tempfile.TemporaryDirectory(prefix="obelus-bench-") as folder:
        yield Path(folder)


@contextmanager
def running(folder: Path, *, consumers: bool) -> Iterator[Settings]:
    """The stack in ``folder`` for as long as the block runs, with or without the consumers."""
    command(folder, "up", "--detach", *(() if consumers else ("--no-consumers",)))
    try:
        os.environ["OBELUS_HOME"] = str(folder)
        os.environ["OBELUS_EMBEDDINGS"] = "hash"
        yield Settings.load()
    finally:
        command(folder, "down")
