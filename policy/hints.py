"""Which patterns are worth trying: one look at a text for every substring that any of them needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from ahocorasick_rs import AhoCorasick

Name = TypeVar("Name")


class Hints(Generic[Name]):
    """Substrings of lower-cased text, by what they hint at (Aho and Corasick: one pass, however many there are)."""

    def __init__(self, wanted: Mapping[Name, Sequence[str]]) -> None:
        """Take the substrings of each name; a name without any of them in a text is not hinted at."""
        named: dict[str, list[Name]] = {}
        for name, pieces in wanted.items():
            for piece in pieces:
                named.setdefault(piece, []).append(name)
        self._names = list(named.values())
        self._search = AhoCorasick(list(named)).find_matches_as_indexes

    def of(self, lowered: str) -> set[Name]:
        """Return what a lower-cased text hints at."""
        found = self._search(lowered, overlapping=True)
        return {name for piece, _, _ in found for name in self._names[piece]} if found else set()
