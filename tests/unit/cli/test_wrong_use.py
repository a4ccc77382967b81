"""What is refused before anything is looked for or published."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.cli import main

DAYS = ("2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["forget"], "--subject"),
        (["forget", "--subject", "*"], "not an id"),
        (["forget", "--whole-tenant"], "--plan"),
        (["forget", "--whole-tenant", "--subject", "ana"], "--subject"),
        (["forget", "--subject", "ana", "--since", DAYS[0], "--until", DAYS[1]], "since is after until"),
        (["forget", "--subject", "ana", "--key", "k", "--message", "m"], "one selector"),
        (["control", "explode", "--subject", "ana"], "pre_compress"),
        (["control", "correct", "--subject", "ana", "--memory", "0" * 32], "--value"),
        (["control", "confirm", "--subject", "ana", "--memory", "7"], "malformed: memory"),
        (["wait", "--timeout", "-1"], "--timeout"),
        (["receipt", "verify", "r.json", "--keys", "k.json", "--subject", "ana"], "--nonce"),
    ],
)
def test_wrong_use_is_exit_status_two(
    arguments: list[str],
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OBELUS_HOME", str(tmp_path / "none"))
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capfd.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert word in said.err and "Value error" not in said.err
