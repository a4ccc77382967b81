"""Environment first, then the running stack, then a clear word."""

from __future__ import annotations

import base64
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.errors import ConfigurationError
from schemas.settings import NoStack, Settings

KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import os

    for name in list(os.environ):
        if name.startswith("OBELUS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OBELUS_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def held(home: Path) -> Iterator[None]:
    """A supervisor has the home."""
    with (home / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(home: Path, **addresses: str) -> None:
    known = {name: f"{name}-of-the-stack" for name in ("kafka", "database", "redis", "qdrant")}
    (home / "run.json").write_text(json.dumps({"addresses": known | addresses}))


def test_without_a_stack_it_says_what_to_do() -> None:
    with pytest.raises(NoStack) as refused:
        Settings.load()
    assert "obelus up" in str(refused.value)
    assert "OBELUS_KAFKA" in str(refused.value)


def test_only_what_is_needed_must_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBELUS_KAFKA", "broker:9092")
    assert Settings.load(needs=("kafka",)).kafka == "broker:9092"
    with pytest.raises(NoStack, match="OBELUS_DATABASE"):
        Settings.load(needs=("kafka", "database"))


def test_a_stack_that_was_killed_is_none(home: Path) -> None:
    run(home)
    (home / "lock").touch()
    with pytest.raises(NoStack) as refused:
        Settings.load()
    assert "killed" in str(refused.value)
    assert "obelus up" in str(refused.value)


@pytest.mark.usefixtures("held")
def test_the_environment_goes_before_the_running_stack(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(home, turns_log="exclusive", api="http://127.0.0.1:1")
    monkeypatch.setenv("OBELUS_QDRANT", "http://vectors:6333")
    settings = Settings.load()
    assert settings.qdrant == "http://vectors:6333"
    assert settings.kafka == "kafka-of-the-stack"
    assert settings.turns_log == "exclusive"
    assert settings.api == "http://127.0.0.1:1"


@pytest.mark.usefixtures("held")
def test_an_empty_variable_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(home)
    monkeypatch.setenv("OBELUS_KAFKA", "")
    assert Settings.load().kafka == "kafka-of-the-stack"


@pytest.mark.usefixtures("held")
def test_a_broken_run_file_is_named(home: Path) -> None:
    (home / "run.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"run\.json"):
        Settings.load()


def test_a_wrong_setting_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBELUS_EMBEDDINGS", "swordfish")
    with pytest.raises(ConfigurationError) as refused:
        Settings.load()
    assert "OBELUS_EMBEDDINGS" in str(refused.value)
    assert "swordfish" not in str(refused.value)


def test_passwords_and_keys_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBELUS_ROOT_KEY", KEY)
    shown = repr(Settings(database="postgresql://me:hidden@host/db", redis="redis://:hidden@host"))
    assert "hidden" not in shown
    assert KEY not in shown


def test_files_lie_in_the_home_and_the_root_key_outside_the_vault(home: Path) -> None:
    settings = Settings()
    assert Path(settings.vault).parent == home / "vault"
    assert settings.root_key_file.parent == home
    assert settings.tokens_file.parent == home


def test_the_root_key_comes_from_the_environment_or_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="obelus up"):
        Settings().root_key_bytes()
    (home / "vault-root.key").write_text(KEY + "\n")
    assert Settings().root_key_bytes() == bytes(range(32))
    elsewhere = home / "elsewhere"
    elsewhere.write_text(base64.urlsafe_b64encode(b"f" * 32).decode())
    monkeypatch.setenv("OBELUS_ROOT_KEY_FILE", str(elsewhere))
    assert Settings().root_key_bytes() == b"f" * 32
    monkeypatch.setenv("OBELUS_ROOT_KEY", KEY)
    assert Settings().root_key_bytes() == bytes(range(32))


@pytest.mark.parametrize("wrong", ["short", base64.urlsafe_b64encode(b"x" * 31).decode(), "ö"])
def test_a_root_key_of_another_size_is_refused(wrong: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBELUS_ROOT_KEY", wrong)
    with pytest.raises(ConfigurationError) as refused:
        Settings().root_key_bytes()
    assert wrong not in str(refused.value)
