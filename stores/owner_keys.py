"""Public keys of outside owners: only who holds the private one can say that an artefact is gone."""

from __future__ import annotations

import base64
import json
import logging
from binascii import Error as Base64Error

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from schemas.settings import Settings

logger = logging.getLogger(__name__)


def owner_keys(settings: Settings) -> dict[str, Ed25519PublicKey]:
    """Read ``{owner: key}``; a key is PEM, or the 32 raw bytes in base64url.

    Without a file, or with one that cannot be read, nobody's word counts: what owners send is kept as
    dead letters until the file is right.
    """
    path = settings.owners_file
    try:
        entries = json.loads(path.read_text("utf-8")).items()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        logger.error("the owners' keys cannot be read: no acknowledgement is taken")
        return {}
    found = {}
    for owner, text in entries:
        key = _key(text)
        if key is None:
            logger.error("an owner's key is no Ed25519 public key")
        else:
            found[owner] = key
    return found


def _key(text: object) -> Ed25519PublicKey | None:
    if not isinstance(text, str):
        return None
    try:
        if text.startswith("-----"):
            key = load_pem_public_key(text.encode())
            return key if isinstance(key, Ed25519PublicKey) else None
        return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, Base64Error, UnsupportedAlgorithm):
        return None
