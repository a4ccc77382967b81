"""Destroys the data key of a handle; after that nothing sealed under it can be read anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.words import Property, SelectorKind
from stores.vault import Vault

_WHOLE = (SelectorKind.SUBJECT, SelectorKind.TENANT)
_ENTRY = "vault.keys"
READ_BYTES = 16 << 20
"""A larger vault, of some 100,000 lives, is not read through with each erasure: that would grow with everybody's."""


class KeysEraser:
    """Only a selector that ends an epoch ends its key."""

    name = "vault"
    version = "1"

    def __init__(self, vault: Vault) -> None:
        """Take the vault."""
        self._vault = vault

    def properties(self) -> Properties:
        """The embedded vault overwrites what it deletes, which the file's bytes show."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.COMPACTED})
        return Properties(can, frozenset({Property.FENCED, Property.ABSENT}))

    def plan(self, scope: Scope) -> Plan:
        """One key, where the handle has one."""
        return Plan(scope, {_ENTRY: len(self._vault.key_exists(_handles(scope)))})

    def erase(self, plan: Plan) -> None:
        """Destroy the key; its bytes are overwritten in the file."""
        handles = _handles(plan.scope)
        if handles:
            self._vault.destroy_keys(handles)

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Ask for the key, and look for the wrapped key's row in the bytes of a file that is not too large."""
        handles = _handles(scope)
        left = len(self._vault.key_exists(handles))
        proven: set[Property] = set() if left else {Property.ABSENT}
        method = "key row overwritten and asked for again"
        if not left and handles and self._vault.size() <= READ_BYTES and not self._vault.key_bytes(handles[0]):
            proven.add(Property.COMPACTED)
            method += "; no key cell of the handle in the file's bytes"
        return [Observation(_ENTRY, left, frozenset(proven), method)]


def _handles(scope: Scope) -> list[bytes]:
    if scope.handle is None or scope.kind not in _WHOLE:
        return []
    return [scope.handle]
