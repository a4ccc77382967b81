"""The hash embedder: terms scattered over the dimensions by an unkeyed hash. No model, no download, very fast.

Texts that share words are near each other, and nothing else is: it stands in for a model in tests
and in benchmarks of everything around the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from policy.text import terms

# Each term lands on this many places, so that two terms rarely share all of theirs.
_PLACES = 4


class HashEmbedder:
    """Deterministic in every process and on every machine."""

    name = "hash"

    def __init__(self, dim: int) -> None:
        """Take the length of a vector."""
        self.dim = dim

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: shape (n, dim), unit length each."""
        count = len(texts)
        if not count:
            return np.empty((0, self.dim), np.float32)
        rows, hashes = _scatter(texts)
        # 16 bits a place: the lowest is the sign, the others choose the dimension.
        words = np.frombuffer(hashes, "<u2").astype(np.int64)
        signs = (words & 1) * 2.0 - 1.0
        places = np.repeat(np.asarray(rows, np.int64), _PLACES) * self.dim + (words >> 1) % self.dim
        flat = np.bincount(places, weights=signs, minlength=count * self.dim)
        vectors = flat.reshape(count, self.dim)
        length = np.linalg.norm(vectors, axis=1)
        # Places may cancel each other out; such a text gets one fixed direction.
        vectors[length == 0, 0] = 1.0
        length[length == 0] = 1.0
        return np.asarray(vectors / length[:, None], np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one text: shape (dim,)."""
        found: NDArray[np.float32] = self.embed_passages([text])[0]
        return found


def _scatter(texts: Sequence[str]) -> tuple[list[int], bytes]:
    rows: list[int] = []
    hashes: list[bytes] = []
    # Of this call only: a longer-lived table of terms would be a cache of what people said.
    seen: dict[str, bytes] = {}
    for row, text in enumerate(texts):
        found = terms(text) or [text]
        rows.extend([row] * len(found))
        for term in found:
            known = seen.get(term)
            if known is None:
                known = seen[term] = blake2b(term.encode(), digest_size=2 * _PLACES).digest()
            hashes.append(known)
    return rows, b"".join(hashes)
