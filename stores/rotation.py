"""The secret turn of vectors (R11): each subject's vectors are turned by an orthogonal map drawn from its key.

Two rounds of: signs flipped, coordinates permuted, blocks of 128 mixed by a Hadamard matrix. Each
coordinate of the result depends on all of the vector's. Inner products do not change, so scores
within a subject stay; without the key, coordinates say nothing about the text. It is not encryption:
distances within one subject survive, and who has the original vectors can match them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from stores.sealing import SubjectKeys

Matrix = NDArray[np.float32]

ROUNDS: Final = 2
_BLOCK: Final = 128
_ZEROES: Final = bytes(16)


def turn(keys: SubjectKeys, vector: Matrix) -> Matrix:
    """Turn one vector, shape (dim,), or several of one subject, shape (n, dim)."""
    matrix = np.atleast_2d(np.asarray(vector, np.float32))
    turned = _turned(matrix, *_draw([keys.vectors], matrix.shape[1]), np.zeros(len(matrix), np.intp))
    return turned.reshape(np.shape(vector))


def turn_each(keys: Sequence[SubjectKeys], vectors: Matrix) -> Matrix:
    """Turn row i of ``vectors`` (n, dim) by the key of ``keys[i]``; a whole batch at once."""
    if not len(vectors):
        return vectors
    distinct = {one.handle: index for index, one in enumerate({k.handle: k for k in keys}.values())}
    secrets = list({one.handle: one.vectors for one in keys}.values())
    which = np.fromiter((distinct[one.handle] for one in keys), np.intp, len(keys))
    orders, signs = _draw(secrets, vectors.shape[1])
    return _turned(np.asarray(vectors, np.float32), orders, signs, which)


def _turned(vectors: Matrix, orders: NDArray[np.intp], signs: Matrix, which: NDArray[np.intp]) -> Matrix:
    """Turn row i by the draw ``which[i]``."""
    count, dim = vectors.shape
    block = _block(dim)
    mixer = _hadamard(block)
    rows = np.arange(count, dtype=np.intp)[:, None] * dim
    for step in range(ROUNDS):
        places = orders[which, step]
        places += rows
        moved = vectors.ravel().take(places)
        moved *= signs[which, step]
        vectors = np.asarray(moved.reshape(-1, block) @ mixer, np.float32).reshape(count, dim)
    return vectors


def _draw(secrets: Sequence[bytes], dim: int) -> tuple[NDArray[np.intp], Matrix]:
    """Draw permutations and signs for each key, both of shape (keys, ROUNDS, dim).

    AES-256 in counter mode is the stream: the key is used for nothing else, hence the fixed start.
    """
    size = ROUNDS * dim * 2
    streams = [Cipher(algorithms.AES(secret), modes.CTR(_ZEROES)).encryptor().update(bytes(size)) for secret in secrets]
    drawn = np.frombuffer(b"".join(streams), "<u2").reshape(len(secrets), ROUNDS, dim)
    # The order of random numbers is a random permutation. Sixteen bits are sorted by radix, three times faster than
    # more; the few equal ones keep their places, on every machine alike. The lowest bit, the sign, hardly bears on it.
    orders = np.argsort(drawn, axis=2, kind="stable")
    signs = (drawn & np.uint16(1)).astype(np.float32) * np.float32(2) - np.float32(1)
    return orders, signs


def _block(dim: int) -> int:
    """Return the largest power of two, at most 128, that divides the dimension."""
    return min(_BLOCK, dim & -dim)


@cache
def _hadamard(size: int) -> Matrix:
    mixer = np.ones((1, 1), np.float32)
    while len(mixer) < size:
        mixer = np.block([[mixer, mixer], [mixer, -mixer]]).astype(np.float32)
    return np.asarray(mixer / np.sqrt(size), np.float32)
