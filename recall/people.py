"""From natural ids to the row and keys of a person, for everything that reads one person's data."""

from __future__ import annotations

from dataclasses import dataclass

from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.subjects import SubjectRow, load_by_ref
from stores.vault import Vault


@dataclass(frozen=True, slots=True)
class Life:
    """A subject in its present epoch, with its keys; gone with the request that asked."""

    row: SubjectRow
    keys: SubjectKeys


def find(connection: Connection, vault: Vault, tenant: str, subject: str) -> Life | None:
    """Find a person; None where there is nobody, or nothing since an erasure.

    Raises:
        KeyMissing: a live handle has no key.
    """
    lookup = vault.lookup(tenant)
    if lookup is None:
        return None
    ref = lookup.subject(subject)
    row = load_by_ref(connection, [ref]).get(ref)
    if row is None or row.handle is None:
        return None
    return Life(row, vault.data_keys([row.handle])[row.handle])
