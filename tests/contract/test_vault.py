"""What every vault promises; one suite, a class for each kind."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas.errors import ConfigurationError, KeyMissing, PartUnavailable, TransientError
from schemas.settings import Settings
from stores import vault_file
from stores.sealing import RootKey
from stores.vault import Vault, new_handle, open_vault
from stores.vault_file import VaultFile
from stores.vault_ledger import Fence, Head

pytestmark = pytest.mark.contract
ROOT = os.urandom(32)
T = b"t" * 16


def handles(count: int) -> list[bytes]:
    return [new_handle() for _ in range(count)]


class VaultContract:
    """Subclassed by each kind of vault."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[..., Vault]]:
        made: list[Vault] = []

        def open_one(root: bytes = ROOT) -> Vault:
            made.append(self.open(tmp_path, root))
            return made[-1]

        yield open_one
        for vault in made:
            vault.close()

    def open(self, place: Path, root: bytes) -> Vault:
        raise NotImplementedError

    @pytest.fixture
    def vault(self, opened: Callable[..., Vault]) -> Vault:
        return opened()

    def test_a_tenant_has_one_lookup_key(self, vault: Vault, opened: Callable[..., Vault]) -> None:
        assert vault.lookup("acme") is None
        first = vault.lookup("acme", create=True)
        again = opened().lookup("acme", create=True)
        assert first is not None and again is not None
        assert first.subject("ann") == again.subject("ann")
        assert set(vault.lookups(["acme", "other"])) == {"acme"}
        assert vault.lookups(["other"], create=True)["other"].subject("ann") != first.subject("ann")
        assert first.tenant_ref == vault.tenant_ref("acme")

    def test_a_destroyed_lookup_key_is_not_drawn_alike_again(self, vault: Vault) -> None:
        before = vault.lookups(["acme"], create=True)["acme"].subject("ann")
        assert vault.destroy_lookups([vault.tenant_ref("acme")]) == 1
        assert vault.lookup("acme") is None
        assert vault.lookups(["acme"], create=True)["acme"].subject("ann") != before

    def test_keys_are_there_for_everybody_once_created(self, vault: Vault, opened: Callable[..., Vault]) -> None:
        wanted = handles(3)
        made = vault.create_keys(wanted)
        read = opened().data_keys(wanted)
        for handle in wanted:
            assert read[handle].open(b"r", made[handle].seal(b"r", b"tea")) == b"tea"

    def test_more_handles_than_a_statement_takes(self, vault: Vault) -> None:
        wanted = handles(2_500)
        vault.create_keys(wanted)
        assert set(vault.data_keys(wanted)) == set(wanted)
        assert vault.key_exists([*wanted, new_handle()]) == set(wanted)
        assert list(vault.handles()) == sorted(wanted)
        assert vault.destroy_keys(wanted) == 2_500
        assert list(vault.handles()) == []

    def test_a_missing_key_fails_closed(self, vault: Vault) -> None:
        (known,) = handles(1)
        vault.create_keys([known])
        with pytest.raises(KeyMissing):
            vault.data_keys([known, new_handle()])
        assert set(vault.data_keys([known, new_handle()], missing_ok=True)) == {known}

    def test_a_handle_is_never_given_a_second_key(self, vault: Vault) -> None:
        (known,) = handles(1)
        sealed = vault.create_keys([known])[known].seal(b"r", b"tea")
        with pytest.raises((ConfigurationError, TransientError)):
            vault.create_keys([known])
        assert vault.data_keys([known])[known].open(b"r", sealed) == b"tea"

    def test_a_destroyed_key_is_gone_for_everybody_at_once(self, vault: Vault, opened: Callable[..., Vault]) -> None:
        other, (known,) = opened(), handles(1)
        vault.create_keys([known])
        assert known in other.data_keys([known])
        assert vault.destroy_keys([known]) == 1
        assert vault.destroy_keys([known]) == 0
        with pytest.raises(KeyMissing):
            other.data_keys([known])

    def test_young_keys_are_left_out_of_a_sweep(self, vault: Vault) -> None:
        vault.create_keys(handles(2))
        assert list(vault.handles(older_than=3600)) == []

    def test_another_root_key_is_refused_in_clear_words(self, vault: Vault, opened: Callable[..., Vault]) -> None:
        with pytest.raises(ConfigurationError, match="root key"):
            opened(os.urandom(32))

    def test_tombstones(self, vault: Vault) -> None:
        now = datetime.now(UTC)
        for_ever, dated = b"a" * 16, b"b" * 16
        vault.add_tombstones([for_ever])
        vault.add_tombstones([dated], now + timedelta(hours=1))
        assert vault.has_tombstones([for_ever, dated, b"c" * 16]) == {for_ever, dated}
        assert vault.drop_tombstones(now) == 0
        assert vault.drop_tombstones(now + timedelta(hours=2)) == 1
        assert vault.has_tombstones([for_ever, dated]) == {for_ever}

    def test_a_request_is_kept_once(self, vault: Vault) -> None:
        assert vault.record_request(b"r" * 16, T, b"digest", b"body") == b"digest"
        assert vault.record_request(b"r" * 16, T, b"other", b"else") == b"digest"
        vault.set_request_state(b"r" * 16, "verified")
        found = vault.request(b"r" * 16)
        assert found is not None
        assert (found.body, found.digest, found.state, found.tenant) == (b"body", b"digest", "verified", T)
        assert [request.id for request in vault.requests()] == [b"r" * 16]
        assert vault.request(b"x" * 16) is None

    def test_fences(self, vault: Vault) -> None:
        first = Fence(b"s" * 16, 1, b"h" * 16, {"1/0": 7})
        vault.record_fences([first, Fence(b"s" * 16, 2, None, {"1/0": 9})])
        vault.record_fences([first])
        assert [fence.epoch for fence in vault.fences([b"s" * 16])] == [1, 2]
        assert vault.fences([b"s" * 16])[0] == first
        assert vault.fences([b"x" * 16]) == []

    def test_a_chain_takes_one_receipt_at_a_time(self, vault: Vault) -> None:
        assert vault.chain_head(T) is None
        first = vault.advance_head(T, None, b"d1")
        assert first == Head(1, b"d1")
        assert vault.advance_head(T, None, b"dx") is None
        second = vault.advance_head(T, first, b"d2")
        assert second == Head(2, b"d2")
        assert vault.advance_head(T, first, b"dx") is None
        assert vault.chain_head(T) == second

    def test_many_threads_at_once(self, vault: Vault) -> None:
        wrong: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(10):
                    mine = handles(5)
                    vault.create_keys(mine)
                    assert set(vault.data_keys(mine)) == set(mine)
                    vault.destroy_keys(mine[:2])
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(list(vault.handles())) == 6 * 10 * 3


class TestSqlite(VaultContract):
    """The embedded vault."""

    def open(self, place: Path, root: bytes) -> Vault:
        return Vault(VaultFile(place / "vault" / "vault.db"), RootKey(root))

    def test_folder_and_file_are_the_owners(self, vault: Vault, tmp_path: Path) -> None:
        vault.create_keys(handles(1))
        assert (tmp_path / "vault").stat().st_mode & 0o777 == 0o700
        files = list((tmp_path / "vault").iterdir())
        assert [path.name for path in files] == ["vault.db"]
        assert files[0].stat().st_mode & 0o777 == 0o600

    def test_a_file_that_others_can_read_is_refused(self, vault: Vault, tmp_path: Path) -> None:
        (tmp_path / "vault" / "vault.db").chmod(0o644)
        with pytest.raises(ConfigurationError, match="chmod"):
            self.open(tmp_path, ROOT)

    def test_pragmas(self, vault: Vault) -> None:
        told = [vault._file.read(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "secure_delete")]
        assert told == ["delete", 3, 1]

    def test_a_file_that_is_no_vault(self, tmp_path: Path) -> None:
        (tmp_path / "vault").mkdir()
        path = tmp_path / "vault" / "vault.db"
        path.write_bytes(b"not a database, and long enough to be read as one" * 50)
        path.chmod(0o600)
        with pytest.raises(ConfigurationError, match="damaged"):
            self.open(tmp_path, ROOT)

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "vault").write_text("a file")
        with pytest.raises(PartUnavailable):
            self.open(tmp_path, ROOT)

    def test_a_vault_of_another_version(self, vault: Vault, tmp_path: Path) -> None:
        with vault._file.write() as tx:
            tx.execute("UPDATE meta SET value = x'0099' WHERE name = 'version'")
        with pytest.raises(ConfigurationError, match="version"):
            self.open(tmp_path, ROOT)

    def test_a_busy_vault_is_a_passing_fault(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vault_file, "BUSY_MILLISECONDS", 100)
        vault = self.open(tmp_path, ROOT)
        holder = sqlite3.connect(tmp_path / "vault" / "vault.db", isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TransientError, match="busy"):
            vault.create_keys(handles(1))
        holder.execute("ROLLBACK")
        holder.close()
        vault.create_keys(handles(1))
        vault.close()

    def test_no_byte_of_a_destroyed_key_stays(self, vault: Vault, tmp_path: Path) -> None:
        """Rows are inserted and destroyed at random, so that pages split, merge and move their cells."""
        alive: dict[bytes, bytes] = {}
        dead: list[bytes] = []
        for turn in range(60):
            fresh = handles(40)
            vault.create_keys(fresh)
            alive |= dict(vault._file.read("SELECT handle, wrapped FROM keys"))
            gone = sorted(alive)[turn % 7 :: 3]
            vault.destroy_keys(gone)
            dead += [alive.pop(handle) for handle in gone]
        raw = (tmp_path / "vault" / "vault.db").read_bytes()
        assert len(dead) > 1_500
        # The middle of the wrapped key: neither nonce nor tag.
        assert [key for key in dead if key[12:44] in raw] == []
        assert all(raw.count(key) == 1 for key in alive.values())
        assert all(vault.key_bytes(handle) == 1 for handle in list(alive)[:20])

    def test_no_natural_id_and_no_open_key_lies_in_the_file(self, vault: Vault, tmp_path: Path) -> None:
        vault.lookup("acme-canary", create=True)
        vault.record_request(b"r" * 16, T, b"d", b"body-canary")
        raw = (tmp_path / "vault" / "vault.db").read_bytes()
        assert b"canary" not in raw
        assert ROOT not in raw

    def test_a_killed_writer_leaves_whole_batches(self, tmp_path: Path) -> None:
        script = (
            "import sys, pathlib; from stores.vault import *; from stores.vault import VaultFile;"
            "from stores.sealing import RootKey;"
            f"v = Vault(VaultFile(pathlib.Path(sys.argv[1])), RootKey(bytes.fromhex('{ROOT.hex()}')))\n"
            "while True:\n"
            "    hs = [new_handle() for _ in range(50)]; v.create_keys(hs)\n"
            "    print(''.join(h.hex() for h in hs), flush=True)\n"
        )
        path = tmp_path / "vault" / "vault.db"
        told: set[bytes] = set()
        for count in (3, 7, 20):
            writer = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True)
            assert writer.stdout is not None
            for _ in range(count):
                line = writer.stdout.readline().strip()
                told |= {bytes.fromhex(line[at : at + 32]) for at in range(0, len(line), 32)}
            writer.kill()
            writer.wait()
            writer.stdout.close()
        vault = self.open(tmp_path, ROOT)
        there = set(vault.handles())
        assert told <= there
        assert len(there) % 50 == 0
        assert set(vault.data_keys(there)) == there
        vault.close()


def test_open_vault_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="path of a file"):
        open_vault(Settings(home=tmp_path, vault="postgresql://elsewhere/vault"))
    with pytest.raises(ConfigurationError, match="no root key"):
        open_vault(Settings(home=tmp_path))
