"""The one screening function: text in, text with every secret span replaced by its type out.

Nearly all turns hold nothing, so a prefilter of substrings decides first whether any detector
runs at all. It may say yes too often, never no where a detector would have found something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from policy.hints import Hints
from policy.screening import numbers, passwords, tokens
from policy.screening.found import PLACEHOLDER, Found

# Full-width ASCII to ASCII, one to one, so that offsets stay true.
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_WIDE = re.compile(r"[\uff01-\uff5e]")
# Seven digits, however spaced: no card, account or identity number is shorter.
_DIGITS = re.compile(r"\d(?:[ .\-]?\d){6}")
_NUMERAL = re.compile(r"\d")
# A run long enough for a token without a name, which letters alone are not.
_LONG = re.compile(r"[!-~]{20}")
_HINTS = Hints({tokens: tokens.HINTS, passwords: passwords.HINTS, numbers: numbers.HINTS})
# Two replacements in a row uncover each other rarely; a third has never been seen.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Hit:
    """A span of the original text that was replaced; ``kind`` is a fixed word and no content."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Screened:
    """Text that may be stored, and what was taken out of it."""

    text: str
    hits: tuple[Hit, ...] = ()


def screen(text: str) -> Screened:
    """Replace every span that is a secret, a payment or an identity number by its type, as in ``[secret:api_key]``."""
    found = _find(text)
    if not found:
        return Screened(text)
    screened = _replace(text, found)
    for _ in range(_ROUNDS):
        # A replacement can uncover another span, and screening its own output must find nothing.
        more = _find(screened.text)
        if not more:
            break
        found = [Found(*hit) for hit in _hits(screened)] + [_back(screened, span) for span in more]
        screened = _replace(text, found)
    return screened


def _find(text: str) -> list[Found]:
    plain = _plain(text)
    hints = _HINTS.of(plain.lower())
    found: list[Found] = []
    numeral = _NUMERAL.search(plain) is not None
    if tokens in hints or (numeral and _LONG.search(plain)):
        found += tokens.find(plain)
    if passwords in hints:
        found += passwords.find(plain)
    if numbers in hints or (numeral and _DIGITS.search(plain)):
        found += numbers.find(plain)
    return found


def _plain(text: str) -> str:
    """Return ``text`` as the detectors read it, every character at its own offset."""
    if "[" in text:
        # What an earlier screening left is no finding: no detector takes a zero character.
        text = PLACEHOLDER.sub(_blank, text)
    if text.isascii() or not _WIDE.search(text):
        return text
    return text.translate(_WIDTH)


def _blank(match: re.Match[str]) -> str:
    return "\0" * len(match[0])


def _hits(screened: Screened) -> Iterable[tuple[str, int, int]]:
    return ((hit.kind, hit.start, hit.end) for hit in screened.hits)


def _back(screened: Screened, span: Found) -> Found:
    """Return a span of screened text in offsets of the original."""
    shift = 0
    for hit in screened.hits:
        length = len(hit.kind) + 2
        if hit.start + shift + length > span.start:
            break
        shift += length - (hit.end - hit.start)
    return Found(span.kind, span.start - shift, span.end - shift)


def _replace(text: str, found: Iterable[Found]) -> Screened:
    parts: list[str] = []
    hits: list[Hit] = []
    done = 0
    # Of overlapping spans the earliest wins, and of two that begin alike the longer one.
    for span in sorted(found, key=lambda item: (item.start, -item.end)):
        if span.end <= done:
            continue
        if span.start < done:
            # Overlap: what sticks out belongs to the same secret and goes with it.
            hits[-1] = Hit(hits[-1].kind, hits[-1].start, span.end)
            done = span.end
            continue
        parts += (text[done : span.start], f"[{span.kind}]")
        hits.append(Hit(span.kind, span.start, span.end))
        done = span.end
    parts.append(text[done:])
    return Screened("".join(parts), tuple(hits))
