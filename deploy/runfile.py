"""`run.json`: what a running stack tells every other process of its home."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deploy.embedded.secret import write_private

STARTING, READY, STOPPING, FAILED = "starting", "ready", "stopping", "failed"


@dataclass
class Run:
    """The content of the file.

    Attributes:
        pid: the supervisor's.
        state: starting, ready, stopping, or failed with a `message`.
        addresses: the settings that `Settings.load` fills in from here.
        parts: by name, `pid` (absent where a setting replaces the part) and `address`.
        consumers: by name, `state`, `pid`, `health` (port), `restarts` and perhaps `message`.
    """

    pid: int
    state: str = STARTING
    message: str = ""
    addresses: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    consumers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Replace the file at once; it holds passwords, so only its owner reads it."""
        write_private(path, json.dumps(asdict(self), indent=1))


def read(path: Path) -> Run | None:
    """Give what a stack wrote last; None where none did or it cannot be understood."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Run(**json.loads(path.read_text("utf-8")))
    return None
