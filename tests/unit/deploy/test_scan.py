"""The search of a home's files: whatever lies in one is found, holes or not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from deploy.audit.forms import forms
from deploy.audit.scan import scan

CANARY = "kanarie4711"
MEGABYTE = 1 << 20


def sparse(path: Path, *places: int, size: int = 40 * MEGABYTE) -> None:
    with path.open("wb") as file:
        for place in places:
            file.seek(place)
            file.write(CANARY.encode())
        file.truncate(size)


def found(home: Path) -> dict[str, int]:
    return {hit.file: hit.count for hit in scan(home, {CANARY: forms(CANARY)})}


@pytest.fixture(params=[True, False], ids=["holes are known", "holes are unknown"])
def holes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, at: int, how: int) -> int:
        raise OSError(errno.EINVAL, "no such whence")

    if not request.param:
        monkeypatch.setattr(os, "lseek", refuse)


def test_a_text_is_found_wherever_it_lies_in_a_sparse_file(tmp_path: Path, holes: None) -> None:
    size = 40 * MEGABYTE
    sparse(tmp_path / "begin", 0)
    sparse(tmp_path / "middle", 20 * MEGABYTE - 5)
    sparse(tmp_path / "end", size - len(CANARY))
    sparse(tmp_path / "all", 0, 4096 - 3, 20 * MEGABYTE, size - len(CANARY))
    sparse(tmp_path / "none")
    (tmp_path / "plain").write_text(f"{CANARY} {CANARY}")
    (tmp_path / "empty").touch()
    assert found(tmp_path) == {"begin": 1, "middle": 1, "end": 1, "all": 4, "plain": 2}
