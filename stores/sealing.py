"""What one subject's key does: seal bodies, name rows, compare values, turn vectors.

A data key is 32 random bytes that only the vault holds. Sub-keys are made from it by HKDF-Expand, one a purpose,
so that no use of one says anything of another. All of them die with the data key. Ids and refs are keyed BLAKE2b
(RFC 7693, a keyed hash by design): every turn needs several, and HMAC costs four times as much.
"""

from __future__ import annotations

import hmac
import os
from hashlib import blake2b
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas.errors import KeyMissing

ID_BYTES: Final = 16
KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


def expand(key: bytes, purpose: bytes) -> bytes:
    """Return the 32 byte sub-key for a purpose: the first block of HKDF-Expand with SHA-256 (RFC 5869).

    The extract step is left out, as the RFC allows for keys that are already uniform.
    """
    return hmac.digest(key, b"obelus/" + purpose + b"\x01", "sha256")


def keyed(key: bytes, message: bytes) -> bytes:
    """Return the keyed hash (16 bytes) by which something is named or compared."""
    return blake2b(message, digest_size=ID_BYTES, key=key).digest()


def framed(kind: str, parts: tuple[str | bytes, ...]) -> bytes:
    """Join parts so that no two different lists of parts give the same bytes."""
    pieces = [kind.encode(), b"\x00"]
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode()
        pieces.append(len(raw).to_bytes(4, "big"))
        pieces.append(raw)
    return b"".join(pieces)


class SubjectKeys:
    """The sub-keys of one handle, made when first used. Keep no longer than one batch or request."""

    __slots__ = ("_cipher", "_data_key", "_identity", "_ids", "_vectors", "handle")

    def __init__(self, handle: bytes, data_key: bytes) -> None:
        """Hold a handle (16 bytes) and its data key (32 bytes)."""
        self.handle = handle
        self._data_key = data_key
        self._cipher: AESGCM | None = None
        self._ids: bytes | None = None
        self._identity: bytes | None = None
        self._vectors: bytes | None = None

    def __repr__(self) -> str:
        """Show no key."""
        return "SubjectKeys(…)"

    def seal(self, row_id: bytes, plain: bytes) -> bytes:
        """Encrypt the body of a row; it opens only under this handle and this row id.

        AES-256-GCM with a random 96 bit nonce in front. Safe for 2**32 bodies a handle.
        """
        cipher = self._cipher or self._content()
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + cipher.encrypt(nonce, plain, self.handle + row_id)

    def open(self, row_id: bytes, sealed: bytes) -> bytes:
        """Decrypt the body of a row.

        Raises:
            KeyMissing: the body was sealed under another key, handle or row id, or is damaged.
        """
        cipher = self._cipher or self._content()
        try:
            return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self.handle + row_id)
        except (InvalidTag, ValueError):
            raise KeyMissing("a sealed row does not open with the key of its handle") from None

    def id(self, kind: str, *parts: str | bytes) -> bytes:
        """Return the 16 byte id of a thing of a kind; the same parts give the same id while the key lives."""
        if self._ids is None:
            self._ids = expand(self._data_key, b"ids")
        return keyed(self._ids, framed(kind, parts))

    def digest(self, kind: str, *parts: str | bytes) -> bytes:
        """Return 16 bytes that tell whether two contents are equal, and nothing else."""
        return self.id("digest/" + kind, *parts)

    def identity(self, *parts: str | bytes) -> bytes:
        """Return the 16 byte keyed hash of a memory's slot (C1)."""
        if self._identity is None:
            self._identity = expand(self._data_key, b"identity")
        return keyed(self._identity, framed("slot", parts))

    @property
    def vectors(self) -> bytes:
        """The 32 byte key of this handle's secret turn of vectors (R11)."""
        if self._vectors is None:
            self._vectors = expand(self._data_key, b"vectors")
        return self._vectors

    def _content(self) -> AESGCM:
        self._cipher = AESGCM(expand(self._data_key, b"content"))
        return self._cipher


class Lookup:
    """A tenant's lookup key: it names subjects, conversations and tombstones, across epochs."""

    __slots__ = ("_cipher", "_key", "tenant_ref")

    def __init__(self, tenant_ref: bytes, key: bytes) -> None:
        """Hold the tenant's ref (16 bytes) and lookup key (32 bytes)."""
        self.tenant_ref = tenant_ref
        self._key = key
        self._cipher: AESGCM | None = None

    def __repr__(self) -> str:
        """Show no key."""
        return "Lookup(…)"

    def subject(self, natural_id: str) -> bytes:
        """Return the ref (16 bytes) of a subject or author: primary key of its row."""
        return self._hash("subject", natural_id)

    def conversation(self, subject: str, conversation: str) -> bytes:
        """Return the ref (16 bytes) of a conversation, under which its consent is kept."""
        return self._hash("conversation", subject, conversation)

    def tombstone(self, *parts: str | bytes) -> bytes:
        """Return the ref (16 bytes) under which an erased thing is recognised when it comes back."""
        return self._hash("tombstone", *parts)

    def holder(self, *parts: str | bytes) -> bytes:
        """Return the ref (16 bytes) of a request: idempotent by the caller's id without keeping it."""
        return self._hash("request", *parts)

    def artefact(self, owner: str, artefact: str) -> bytes:
        """Return the id (16 bytes) of what an outside owner has made."""
        return self._hash("artefact", owner, artefact)

    def seal(self, row_id: bytes, plain: bytes) -> bytes:
        """Encrypt what must outlive a subject's key: it opens with the tenant's key and this row id alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._content().encrypt(nonce, plain, self.tenant_ref + row_id)

    def open(self, row_id: bytes, sealed: bytes) -> bytes:
        """Decrypt what `seal` gave.

        Raises:
            KeyMissing: it was sealed under another key or row id, or is damaged.
        """
        try:
            return self._content().decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self.tenant_ref + row_id)
        except (InvalidTag, ValueError):
            raise KeyMissing("a sealed row does not open with the key of its tenant") from None

    def _content(self) -> AESGCM:
        self._cipher = self._cipher or AESGCM(expand(self._key, b"content"))
        return self._cipher

    def _hash(self, kind: str, *parts: str | bytes) -> bytes:
        return keyed(self._key, framed(kind, parts))


class RootKey:
    """The key that wraps all others; it never leaves this object."""

    __slots__ = ("_root", "_tenants", "_wrap")

    def __init__(self, root: bytes) -> None:
        """Derive what is needed from the 32 byte root key."""
        self._root = root
        self._tenants = expand(root, b"tenant")
        self._wrap = AESGCM(expand(root, b"wrap"))

    def __repr__(self) -> str:
        """Show no key."""
        return "RootKey(…)"

    def tenant_ref(self, tenant: str) -> bytes:
        """Return the ref (16 bytes) of a tenant."""
        return keyed(self._tenants, tenant.encode())

    def check_value(self) -> bytes:
        """Return 16 bytes that tell this root key from another."""
        return expand(self._root, b"check")[:ID_BYTES]

    def derive(self, purpose: bytes) -> bytes:
        """Return a 32 byte key for a purpose that belongs to no tenant or subject."""
        return expand(self._root, b"use/" + purpose)

    def wrap(self, owner: bytes, key: bytes) -> bytes:
        """Encrypt a key (or a small record of the vault) so that it opens only for its owner."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._wrap.encrypt(nonce, key, owner)

    def unwrap(self, owner: bytes, wrapped: bytes) -> bytes:
        """Decrypt what `wrap` gave.

        Raises:
            KeyMissing: it was wrapped for another owner or by another root key.
        """
        try:
            return self._wrap.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], owner)
        except (InvalidTag, ValueError):
            raise KeyMissing("a key in the vault does not open with this root key") from None


def lock_of(ref: bytes) -> int:
    """Return the advisory lock of a subject: the first 8 bytes of its ref as a signed integer."""
    return int.from_bytes(ref[:8], "big", signed=True)
