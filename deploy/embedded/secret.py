"""Secrets that are drawn once and kept in a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path


def _draw() -> str:
    return secrets.token_urlsafe(32)


def secret_file(path: Path, draw: Callable[[], str] = _draw) -> str:
    """Read the secret in a file, drawing and writing it first where there is none."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        pass
    secret = draw()
    write_private(path, secret)
    return secret


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600, durably and at once: readers see the old or the new one."""
    unfinished = path.with_name(path.name + ".new")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
