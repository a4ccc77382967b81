"""Keys in Redis: all of a handle are found by one pattern, and hold no natural id."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from schemas.errors import ConfigurationError, PartUnavailable
from schemas.settings import Settings
from stores.cache import PREFIXES, check, handle_pattern, recall_key, redis_client, window_key

HANDLE, OTHER = b"h" * 16, b"o" * 16


def test_every_key_is_found_by_the_pattern_of_its_handle() -> None:
    keys = [window_key(HANDLE, 3, b"c" * 16), recall_key(HANDLE, 3, 7, b"q" * 16)]
    for key, prefix in zip(keys, PREFIXES, strict=False):
        assert fnmatchcase(key, handle_pattern(prefix, HANDLE))
        assert not fnmatchcase(key, handle_pattern(prefix, OTHER))


def test_a_cache_that_is_away_says_so_at_once(tmp_path: object) -> None:
    client = redis_client(Settings(redis="redis://127.0.0.1:1/0"))
    with pytest.raises(PartUnavailable):
        check(client)
    client.close()
    with pytest.raises(ConfigurationError):
        redis_client(Settings(redis=""))
