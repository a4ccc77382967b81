"""Named blocks of SQL, and that every file of ours is well formed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stores.sql import load, parse

ROOT = Path(__file__).parents[3]


def test_blocks_are_attributes() -> None:
    found = parse("-- name: one\n-- why\nSELECT 1;\n\n-- name: two\nSELECT 2\n", "f")
    assert found.one == "-- why\nSELECT 1"
    assert found.names() == ["one", "two"]
    with pytest.raises(AttributeError, match="no query named three"):
        _ = found.three


@pytest.mark.parametrize("text", ["SELECT 1", "-- name: a\n\n-- name: b\nSELECT 1", "-- name: a\nX\n-- name: a\nY"])
def test_a_malformed_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="f"):
        parse(text, "f")


def test_every_file_of_queries_loads() -> None:
    paths = [path for path in ROOT.glob("*/**/*.sql") if not {".venv", "migrations"} & set(path.parts)]
    assert paths
    for path in paths:
        package = ".".join(path.parent.relative_to(ROOT).parts)
        assert load(package, path.name).names()
