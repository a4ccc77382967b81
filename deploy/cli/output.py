"""Data goes to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any


def emit(data: Any) -> None:
    """Print one JSON document."""
    json.dump(data, sys.stdout, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write("\n")


def note(message: str) -> None:
    """Tell how it goes."""
    print(message, file=sys.stderr, flush=True)
