"""The keys and development tokens that a new home needs, each made once, mode 0600."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path

from deploy.embedded.secret import secret_file, write_private
from schemas.settings import Settings

ROLES = ("agent", "person", "compliance", "operator")
TENANT = "default"


def ensure(settings: Settings) -> None:
    """Make what is missing: the vault's root key, the receipts' signing key, the tokens."""
    if settings.root_key is None:
        secret_file(settings.root_key_file, _root_key)
    settings.signing_key_file.parent.mkdir(parents=True, exist_ok=True)
    _signing_key(settings.signing_key_file)
    secret_file(settings.tokens_file, _tokens)


def _root_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def _tokens() -> str:
    """Map opaque tokens to what they permit."""
    grants = {secrets.token_urlsafe(24): {"tenant": TENANT, "role": role} for role in ROLES}
    return json.dumps(grants, indent=1)


def _signing_key(path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if path.exists():
        return
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    # The private half last: where it is, the public one is too.
    path.with_suffix(".pub").write_bytes(public)
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    write_private(path, private.decode())
