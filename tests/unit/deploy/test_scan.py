"""The byte scan of a home whose parts go on working."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from deploy.audit.scan import scan


def test_a_folder_that_goes_meanwhile_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "vectors" / "engine-1"
    gone.mkdir(parents=True)
    (tmp_path / "vectors" / "engine-2").mkdir()
    (tmp_path / "vectors" / "engine-2" / "page").write_bytes(b"..a canary..")
    listed = os.scandir

    def going(path: Any = ".") -> Any:
        if Path(path) == gone:
            raise FileNotFoundError(path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", going)
    [hit] = scan(tmp_path, {"canary": [b"a canary"]})
    assert (hit.store, hit.file, hit.count) == ("qdrant", "vectors/engine-2/page", 1)
