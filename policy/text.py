"""One way to compare what people write, in Chinese and English (C1, C2).

Nothing here changes what is stored: stored text keeps its language and spelling, these forms only compare.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# As long as an id, so that a normalised key can be named in a deletion request.
MAX_KEY = 128

_NOT_WORD = re.compile(r"[\W_]+")
_NOT_KEY = re.compile(r"(?:[^\w.]|_)+")
_DOTS = re.compile(r"[._]*\.[._]*")
_ARTICLES = re.compile(r"\b(?:an?|the)\b ?")
# "the whole family" and "all the family" quantify alike; "whole milk" is left alone.
_ALL = re.compile(
    r"\b(?:all (?:of )?(?:the|my|our)|(?:the|my|our) (?:whole|entire)|(?:whole|entire) of (?:the|my|our))\b"
)
_APOSTROPHE = str.maketrans("", "", "'\u2019\u2018`")
_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_SPACE = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_FINAL_PARTICLE = re.compile(r"[\u4e86\u554a\u5462\u5427\u5440\u54e6\u54c8\u561b]+$")
_TERM = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_STOP = frozenset(
    "a an and are as at be been but by do does for from had has have he her his i if in is it its me my of on or our"
    " she so that the their them they this to was we were what which who will with would you your".split()
)
_STOP_CJK = frozenset("的了是我你他她它们在有和也就都吗呢啊吧呀哦很么")


def fold(text: str) -> str:
    """Return NFKC, case-folded text: width, ligatures and case no longer matter."""
    if text.isascii():
        return text.lower()
    # Folding can undo normalisation (U+0345 for one), hence the second pass.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def normalise_value(text: str) -> str:
    """Return the form in which two values are equal when they say the same (C2, E5).

    Case, width, punctuation, articles and final particles do not count; numbers, negations and
    every content word do: "5 years" is not "6 years".
    """
    words = _NOT_WORD.sub(" ", fold(text).translate(_APOSTROPHE)).strip()
    quantified = _ALL.sub("all", words)
    bare = _ARTICLES.sub("", quantified).strip()
    joined = _CJK_SPACE.sub("", bare or quantified)
    return _FINAL_PARTICLE.sub("", joined).strip() or joined


def normalise_key(text: str) -> str:
    """Return ``text`` as a slot name: folded words joined by ``_``, segments joined by dots, at most 128 characters."""
    folded = _NOT_KEY.sub("_", fold(text).translate(_APOSTROPHE))
    return _DOTS.sub(".", folded).strip("._")[:MAX_KEY].rstrip("._")


def condition_set(conditions: Iterable[str]) -> tuple[str, ...]:
    """Return conditions in the one canonical order, normalised, without repeats."""
    return tuple(sorted({key for key in map(normalise_key, conditions) if key}))


def terms(text: str) -> list[str]:
    """Return what lexical scoring counts: words without stop words, and Chinese characters and their pairs."""
    found: list[str] = []
    for run in _TERM.findall(fold(text).translate(_APOSTROPHE)):
        if _IS_CJK.match(run):
            found.extend(char for char in run if char not in _STOP_CJK)
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        elif run not in _STOP:
            found.append(_singular(run))
    return found


def _singular(word: str) -> str:
    """Drop a plural s, so that "oyster" finds "oysters"; "jazz", "glass", "tennis" stay."""
    if len(word) > 3 and word.endswith("s") and word[-2] not in "sui":
        return word[:-1]
    return word
