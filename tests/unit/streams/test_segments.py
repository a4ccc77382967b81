"""What the names of segment files prove."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.segments import SegmentFiles


def partition(home: Path, *files: str, folder: str = "memory.turns-0", topic_id: str = "id") -> None:
    place = home / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    for name in files:
        (place / name).touch()


def named(base: int, suffix: str = "") -> str:
    return f"{base:020}.log{suffix}"


TABLE = {
    "begins at the fence": ([named(50)], True),
    "begins after it": ([named(51), named(80)], True),
    "one may hold what is below": ([named(0), named(50)], False),
    "one is on its way out": ([named(0, ".deleted"), named(50)], False),
    "a copy the cleaner made": ([named(0, ".cleaned"), named(50)], False),
    "indexes hold no records": ([f"{0:020}.index", f"{0:020}.timeindex", named(50)], True),
}


@pytest.mark.parametrize(("files", "clean"), TABLE.values(), ids=TABLE.keys())
def test_clean(tmp_path: Path, files: list[str], clean: bool) -> None:
    partition(tmp_path, *files)
    partition(tmp_path, named(0), folder="memory.turns-01")
    assert SegmentFiles((tmp_path,)).clean("memory.turns", "id", 0, 50) is clean


def test_a_folder_that_is_not_there_proves_nothing(tmp_path: Path) -> None:
    files = SegmentFiles((tmp_path,))
    assert not files.clean("memory.turns", "id", 0, 50)
    assert files.clean("memory.turns", "id", 0, 0)


def test_neither_does_that_of_another_topic_of_this_name(tmp_path: Path) -> None:
    partition(tmp_path, named(50), topic_id="other")
    assert not SegmentFiles((tmp_path,)).clean("memory.turns", "id", 0, 50)
    partition(tmp_path, named(50))
    partition(tmp_path, named(0), folder="memory.turns-0.abc-delete")
    assert not SegmentFiles((tmp_path,)).clean("memory.turns", "id", 0, 50)


def test_where_the_next_segment_begins(tmp_path: Path) -> None:
    partition(tmp_path, named(0), named(40), named(70, ".deleted"), named(90))
    files = SegmentFiles((tmp_path,))
    assert files.boundary("memory.turns", "id", 0, 30) == 40
    assert files.boundary("memory.turns", "id", 0, 50) == 90
    assert files.boundary("memory.turns", "id", 0, 91) is None


def test_an_id_is_known_in_either_spelling(tmp_path: Path) -> None:
    partition(tmp_path, named(50), topic_id="P2GNy4SrTjiO1_uDdo7-mA")
    assert SegmentFiles((tmp_path,)).clean("memory.turns", "P2GNy4SrTjiO1/uDdo7+mA", 0, 50)
