"""The key that signs receipts, and the public keys that verify them."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from schemas.errors import ConfigurationError
from schemas.settings import Settings


def signing_key(settings: Settings) -> Ed25519PrivateKey:
    """Read the private key of receipts.

    Raises:
        ConfigurationError: there is none, or it is no Ed25519 key.
    """
    path = settings.signing_key_file
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(f"no usable key for receipts in {path}: `obelus up` makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(f"{path} must hold an Ed25519 key")
    return key


def public_keys_file(settings: Settings) -> Path:
    """Where the public keys lie: beside the private one, handed out freely."""
    return settings.signing_key_file.with_suffix(".pub")
