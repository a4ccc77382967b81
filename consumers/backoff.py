"""How long to wait before the same work is tried again."""

from __future__ import annotations

import random


class Backoff:
    """Doubling waits up to a cap, each shortened at random so that workers do not march in step."""

    def __init__(self, first: float = 0.1, cap: float = 10.0) -> None:
        """Start over: the first wait is at most ``first`` seconds, none is above ``cap``."""
        self._first, self._cap, self._tries = first, cap, 0

    @property
    def tries(self) -> int:
        """How often `next` was asked since the last reset."""
        return self._tries

    def next(self) -> float:
        """Give the next wait in seconds."""
        # The exponent is bounded so that days of failing do not overflow a float.
        longest = min(self._cap, self._first * 2.0 ** min(self._tries, 30))
        self._tries += 1
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret

    def reset(self) -> None:
        """Begin again with the shortest wait, since something succeeded."""
        self._tries = 0
