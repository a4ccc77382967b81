"""The secret turn keeps scores within a subject and says nothing outside of it (R11)."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stores.rotation import turn, turn_each
from stores.sealing import SubjectKeys


def keys() -> SubjectKeys:
    return SubjectKeys(os.urandom(16), os.urandom(32))


def unit(seed: int, count: int, dim: int = 384) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([384, 768, 1024, 1536, 100, 7]))
def test_scores_do_not_change(seed: int, dim: int) -> None:
    mine, vectors = keys(), unit(seed, 12, dim)
    turned = turn(mine, vectors)
    assert np.abs(turned @ turned.T - vectors @ vectors.T).max() < 1e-5
    assert turned.dtype == np.float32


def test_the_same_key_turns_alike_alone_and_in_a_batch() -> None:
    owners = [keys() for _ in range(5)]
    vectors = unit(1, 50)
    which = [owners[n % 5] for n in range(50)]
    batch = turn_each(which, vectors)
    for one, vector, turned in zip(which, vectors, batch, strict=True):
        again = SubjectKeys(one.handle, one._data_key)
        assert np.abs(turn(again, vector) - turned).max() < 1e-6
    assert turn_each([], vectors[:0]).shape == (0, 384)


def test_every_coordinate_depends_on_the_whole_vector() -> None:
    turned = turn(keys(), np.eye(384, dtype=np.float32))
    # Two rounds of 128-blocks: no coordinate of the input is passed on as it is.
    assert np.abs(turned).max() < 0.6
    assert (np.abs(turned) > 1e-6).mean() > 0.8


@pytest.mark.parametrize("secret", ["wrong key", "no turn"])
def test_neighbours_without_the_key_are_no_better_than_chance(secret: str) -> None:
    mine, plain = keys(), unit(2, 500)
    stored = turn(mine, plain)
    noise = unit(3, 500)
    asked = plain + 0.3 * noise
    with_key = (turn(mine, asked) @ stored.T).argmax(axis=1)
    without = ((turn(keys(), asked) if secret == "wrong key" else asked) @ stored.T).argmax(axis=1)
    assert (with_key == np.arange(500)).mean() > 0.99
    # Chance is one in five hundred; five hits of five hundred would be rarer than one in five hundred runs.
    assert (without == np.arange(500)).sum() < 6


def test_two_subjects_share_no_basis() -> None:
    plain = unit(4, 200)
    scores = np.sum(turn(keys(), plain) * turn(keys(), plain), axis=1)
    assert abs(float(scores.mean())) < 0.05
