"""What an outside owner signs when it answers an order, and whether an answer counts. Pure.

Signed with Ed25519 are these seven lines, joined by a line feed, in UTF-8:

    obelus-erasure-ack-v1
    <erasure_id>
    <challenge>
    <owner>
    <state>
    <expected, in decimal, empty where absent>
    <SHA-256 of evidence, hex; of the empty string where absent>

``signature`` is the 64 bytes in base64url, padded or not.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from binascii import Error as Base64Error
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from schemas.events import ErasureAck

REASONS = ("unknown_order", "wrong_challenge", "unknown_owner", "bad_signature", "wrong_count")
"""Why an answer is refused, in the order in which it is asked."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """What an owner was told: the challenge and how many artefacts."""

    challenge: str
    count: int


def signed_text(ack: ErasureAck) -> bytes:
    """Give the bytes under an answer's signature."""
    lines = (
        "obelus-erasure-ack-v1",
        ack.erasure_id,
        ack.challenge,
        ack.owner,
        ack.state,
        "" if ack.expected is None else str(ack.expected),
        evidence_digest(ack).hex(),
    )
    return "\n".join(lines).encode()


def evidence_digest(ack: ErasureAck) -> bytes:
    """SHA-256 of what the owner sent as evidence, which may hold anything and is not kept."""
    return hashlib.sha256((ack.evidence or "").encode()).digest()


def signature_of(ack: ErasureAck) -> bytes:
    """Give the signature's bytes; none where it is absent or no base64url."""
    text = ack.signature or ""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, Base64Error):
        return b""


def refusal(ack: ErasureAck, ordered: Ordered | None, key: Ed25519PublicKey | None) -> str | None:
    """Say why an answer does not count; None where it does."""
    if ordered is None:
        return "unknown_order"
    if not hmac.compare_digest(ack.challenge.encode(), ordered.challenge.encode()):
        return "wrong_challenge"
    if key is None:
        return "unknown_owner"
    try:
        key.verify(signature_of(ack), signed_text(ack))
    except InvalidSignature:
        return "bad_signature"
    if ack.state == "done" and ack.expected != ordered.count:
        return "wrong_count"
    return None
