"""The forms in which a text can lie in a file."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable


def forms(canary: str) -> frozenset[bytes]:
    """UTF-8, JSON escapes, and base64 at each of its three alignments.

    Base64 puts three bytes into four characters, so a text inside a longer one looks different at
    each offset modulo three; the characters that also hold bits of its neighbours are left out.
    """
    raw = canary.encode()
    found = {raw}
    for text in (json.dumps(canary), json.dumps(canary, ensure_ascii=False)):
        escaped = text[1:-1]
        found |= {escaped.encode(), _upper_escapes(escaped).encode()}
    for inner in set(found):
        found |= set(_in_base64(inner))
    return frozenset(form for form in found if form)


def _upper_escapes(text: str) -> str:
    head, *rest = text.split("\\u")
    return head + "".join("\\u" + part[:4].upper() + part[4:] for part in rest)


def _in_base64(raw: bytes) -> Iterable[bytes]:
    for shift in range(3):
        coded = b64encode(b"\0" * shift + raw)
        first = (shift * 8 + 5) // 6
        last = (shift + len(raw)) * 8 // 6
        # Shorter ones would be found in any noise.
        if last - first >= 8:
            part = coded[first:last]
            yield part
            yield part.translate(bytes.maketrans(b"+/", b"-_"))
