"""The vault: lookup keys of tenants, one data key a handle, and what must outlive a restore.

It shares no file, log or backup with any other store. Keys are wrapped by the root key, which lies elsewhere.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from schemas.errors import ConfigurationError, KeyMissing
from schemas.settings import Settings
from stores.sealing import ID_BYTES, KEY_BYTES, Lookup, RootKey, SubjectKeys
from stores.vault_file import CHUNK, VaultFile
from stores.vault_ledger import LEDGER_TABLES, Ledger

VERSION: Final = 1

_TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS tenants (ref BLOB PRIMARY KEY, wrapped BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS keys"
    " (handle BLOB PRIMARY KEY, wrapped BLOB NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID",
    *LEDGER_TABLES,
)


class Vault(Ledger):
    """Keys by tenant and handle. Every answer is read from the file: a destroyed key is gone at once."""

    def __init__(self, file: VaultFile, root: RootKey) -> None:
        """Take an opened file and the root key.

        Raises:
            ConfigurationError: the file was written with another root key, or by a newer version.
        """
        super().__init__(file, root)
        self._prepare()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # Tenants

    def tenant_ref(self, tenant: str) -> bytes:
        """Return the ref (16 bytes) of a tenant."""
        return self._root.tenant_ref(tenant)

    def lookup(self, tenant: str, create: bool = False) -> Lookup | None:
        """Return a tenant's lookup key, drawing it where there is none and ``create`` is set."""
        found = self.lookups([tenant], create=create)
        return found.get(tenant)

    def lookups(self, tenants: Collection[str], create: bool = False) -> dict[str, Lookup]:
        """Return the lookup keys of several tenants by name; those without one are left out."""
        refs = {self.tenant_ref(tenant): tenant for tenant in tenants}
        found = self._read_lookups(refs)
        missing = [ref for ref in refs if refs[ref] not in found]
        if create and missing:
            rows = [(ref, self._root.wrap(ref, os.urandom(KEY_BYTES))) for ref in missing]
            with self._file.write() as tx:
                # Another process may have drawn one meanwhile: the first one counts.
                tx.executemany("INSERT OR IGNORE INTO tenants VALUES (?, ?)", rows)
            found |= self._read_lookups({ref: refs[ref] for ref in missing})
        return found

    def lookup_of(self, tenant_ref: bytes) -> Lookup | None:
        """Return the lookup key of a tenant that is known by its ref alone."""
        return self._read_lookups({tenant_ref: ""}).get("")

    def destroy_lookups(self, tenant_refs: Iterable[bytes]) -> int:
        """Destroy lookup keys of tenants; nothing of theirs can be named afterwards."""
        return self._file.delete_in("DELETE FROM tenants WHERE ref IN ({})", tenant_refs)

    def _read_lookups(self, refs: dict[bytes, str]) -> dict[str, Lookup]:
        rows = self._file.read_in("SELECT ref, wrapped FROM tenants WHERE ref IN ({})", refs)
        return {refs[ref]: Lookup(ref, self._root.unwrap(ref, wrapped)) for ref, wrapped in rows}

    # Handles

    def create_keys(self, handles: Iterable[bytes]) -> dict[bytes, SubjectKeys]:
        """Draw a data key for each new handle (16 bytes); durable when this returns."""
        keys = {handle: os.urandom(KEY_BYTES) for handle in handles}
        now = int(time.time())
        rows = [(handle, self._root.wrap(handle, key), now) for handle, key in keys.items()]
        with self._file.write() as tx:
            tx.executemany("INSERT INTO keys VALUES (?, ?, ?)", rows)
        return {handle: SubjectKeys(handle, key) for handle, key in keys.items()}

    def data_keys(self, handles: Iterable[bytes], missing_ok: bool = False) -> dict[bytes, SubjectKeys]:
        """Return the keys of handles.

        Args:
            handles: handles that are live, so that each must have a key.
            missing_ok: leave out handles without a key; for callers that look, before they hold
                the subject's lock, at handles that may have been erased.

        Raises:
            KeyMissing: a handle has no key, or the root key does not open it.
        """
        wanted = set(handles)
        rows = self._file.read_in("SELECT handle, wrapped FROM keys WHERE handle IN ({})", wanted)
        unwrap = self._root.unwrap
        found = {handle: SubjectKeys(handle, unwrap(handle, wrapped)) for handle, wrapped in rows}
        if not missing_ok and len(found) < len(wanted):
            raise KeyMissing(f"{len(wanted) - len(found)} live handles have no key in the vault")
        return found

    def key_exists(self, handles: Iterable[bytes]) -> set[bytes]:
        """Return those of the handles that have a key."""
        rows = self._file.read_in("SELECT handle FROM keys WHERE handle IN ({})", set(handles))
        return {row[0] for row in rows}

    def destroy_keys(self, handles: Iterable[bytes]) -> int:
        """Destroy data keys: their bytes are overwritten in the file. Return how many there were."""
        return self._file.delete_in("DELETE FROM keys WHERE handle IN ({})", handles)

    def key_bytes(self, handle: bytes) -> int:
        """Count what is left of a handle's key in the files' bytes, freed pages included."""
        # SQLite's record of a row of `keys`: types of handle and wrapped key, of the time, then the handle.
        cell = re.compile(b"\x2c\x81\x04." + re.escape(handle), re.DOTALL)
        found = 0
        for path in self._file.paths():
            with suppress(FileNotFoundError):
                found += len(cell.findall(path.read_bytes()))
        return found

    def size(self) -> int:
        """Return how large the file is, in bytes: what `key_bytes` reads, at least."""
        return self._file.paths()[0].stat().st_size

    def handles(self, older_than: float = 0) -> Iterator[bytes]:
        """Give every handle whose key is at least ``older_than`` seconds old, paged, in order."""
        last, before = b"", int(time.time() - older_than)
        while True:
            page = self._file.read(
                "SELECT handle FROM keys WHERE handle > ? AND created <= ? ORDER BY handle LIMIT ?",
                (last, before, CHUNK),
            )
            if not page:
                return
            yield from (row[0] for row in page)
            last = page[-1][0]

    # The file

    def _prepare(self) -> None:
        if not self._file.read("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            self._create()
        meta = dict(self._file.read("SELECT name, value FROM meta"))
        if meta.get("version") != VERSION.to_bytes(2, "big"):
            raise ConfigurationError("the vault was written by another version of Obelus")
        if meta.get("check") != self._root.check_value():
            raise ConfigurationError("the root key is not the one that this vault was made with")

    def _create(self) -> None:
        with self._file.write() as tx:
            for table in _TABLES:
                tx.execute(table)
            tx.executemany(
                "INSERT OR IGNORE INTO meta VALUES (?, ?)",
                [("version", VERSION.to_bytes(2, "big")), ("check", self._root.check_value())],
            )


def new_handle() -> bytes:
    """Draw a handle: 16 random bytes that say nothing of the subject."""
    return os.urandom(ID_BYTES)


def open_vault(settings: Settings) -> Vault:
    """Open the vault that the settings name, creating it where there is none.

    Raises:
        ConfigurationError: no usable root key, another root key's vault, or a kind of vault unknown here.
        PartUnavailable: the file cannot be opened.
    """
    settings.require("vault")
    if "://" in settings.vault:
        raise ConfigurationError("OBELUS_VAULT must be the path of a file")
    return Vault(VaultFile(Path(settings.vault)), RootKey(settings.root_key_bytes()))
