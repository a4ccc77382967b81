"""Checks a receipt offline: no stack, no network, no key from inside the envelope (D9).

What went wrong elsewhere is closed here: the key id is only a hint, what was verified is the very
bytes that are read afterwards, the subject must be ours, and what could not be checked is said.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from in_toto_attestation.v1.statement import STATEMENT_TYPE_URI
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import Signature, SSlibKey

from policy.receipts import EVIDENCE, PAYLOAD_TYPE, PREDICATE_TYPE, subject_tag
from policy.summary import by_store


@dataclass(frozen=True, slots=True)
class Claim:
    """Whose receipt the holder says it is: natural ids and the nonce drawn with the request."""

    tenant: str
    subject: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a check.

    Attributes:
        reasons: why it is not valid: ``malformed`` ``key`` ``signature`` ``subject`` ``evidence``
            ``chain``.
        unchecked: of ``evidence`` ``chain`` ``subject``, what was not given to check against.
        predicate: what the receipt says, only where its signature holds.
    """

    reasons: tuple[str, ...]
    unchecked: tuple[str, ...]
    predicate: dict[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """True where nothing that was checked failed."""
        return not self.reasons

    def as_json(self) -> dict[str, Any]:
        """The answer of ``obelus receipt verify --json``."""
        lines = self.predicate.get("lines", [])
        return {
            "valid": self.valid,
            "reasons": list(self.reasons),
            "unchecked": list(self.unchecked),
            "stores": by_store(lines),
            "lines": lines,
            **{name: self.predicate.get(name) for name in ("erasureId", "state", "sequence", "issuedAt", "deadline")},
        }


class _Bad(Exception):
    """One fixed word."""


def load_keys(data: bytes) -> list[SSlibKey]:
    """Read public keys: our JSON (``{"keys": [..]}``), a JSON list of them, what ``/v1/keys`` answers, or one PEM.

    Raises:
        ValueError: none of these.
    """
    if data.lstrip().startswith(b"-----"):
        return [SSlibKey.from_crypto(load_pem_public_key(data))]
    try:
        parsed = json.loads(data)
        rows = parsed["keys"] if isinstance(parsed, dict) else parsed
        return [_key(row) for row in rows]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a list of public keys") from error


def _key(row: dict[str, Any]) -> SSlibKey:
    if "pem" in row:
        return SSlibKey.from_crypto(load_pem_public_key(row["pem"].encode()))
    fields = {name: value for name, value in row.items() if name != "keyid"}
    return SSlibKey.from_dict(row["keyid"], fields)


def verify(
    envelope: bytes,
    keys: Sequence[SSlibKey],
    *,
    evidence: bytes | None = None,
    chain: Sequence[bytes] | None = None,
    claim: Claim | None = None,
) -> Verdict:
    """Check a receipt against keys that were got separately.

    Args:
        envelope: the DSSE envelope as JSON.
        keys: public keys to trust; never taken from the envelope.
        evidence: the evidence bundle, byte for byte.
        chain: envelopes of the same tenant; all before this one must be among them.
        claim: whose receipt it should be.
    """
    given = {"evidence": evidence, "chain": chain, "subject": claim}
    unchecked = tuple(name for name, value in given.items() if value is None)
    try:
        payload = _signed_payload(envelope, keys)
        statement = _statement(payload)
    except _Bad as bad:
        return Verdict((str(bad),), tuple(given))
    predicate = statement["predicate"]
    reasons = []
    if evidence is not None and not _evidence_matches(statement, predicate, evidence):
        reasons.append("evidence")
    if not _chain_holds(predicate, payload, chain, keys):
        reasons.append("chain")
    if claim is not None and not _is_theirs(predicate, claim):
        reasons.append("subject")
    return Verdict(tuple(reasons), unchecked, predicate)


def _signed_payload(envelope: bytes, keys: Sequence[SSlibKey]) -> bytes:
    """The payload's bytes, once one trusted key has signed exactly these bytes."""
    try:
        parsed = json.loads(envelope)
        payload = b64decode(parsed["payload"], validate=True)
        kind = parsed["payloadType"]
        signatures = [(s.get("keyid", ""), b64decode(s["sig"]).hex()) for s in parsed["signatures"]]
    except (ValueError, KeyError, TypeError, AttributeError, Base64Error):
        raise _Bad("malformed") from None
    if kind != PAYLOAD_TYPE or not signatures:
        raise _Bad("malformed")
    pae = Envelope(payload, kind, {}).pae()
    for key in keys:
        if any(_verifies(key, signature, pae) for _, signature in signatures):
            return payload
    known = {key.keyid for key in keys}
    raise _Bad("signature" if any(keyid in known for keyid, _ in signatures) else "key")


def _verifies(key: SSlibKey, signature: str, pae: bytes) -> bool:
    try:
        key.verify_signature(Signature(key.keyid, signature), pae)
    except UnverifiedSignatureError:
        return False
    return True


def _statement(payload: bytes) -> dict[str, Any]:
    try:
        statement: dict[str, Any] = json.loads(payload)
        known = (
            statement["_type"] == STATEMENT_TYPE_URI
            and statement["predicateType"] == PREDICATE_TYPE
            and isinstance(statement["predicate"]["lines"], list)
            and isinstance(statement["predicate"]["sequence"], int)
        )
        subjects = statement["subject"]
        ours = len(subjects) == 1 and subjects[0]["name"] == EVIDENCE and subjects[0]["digest"]
    except (ValueError, KeyError, TypeError, IndexError):
        raise _Bad("malformed") from None
    if not known:
        raise _Bad("malformed")
    if not ours or "sha256" not in subjects[0]["digest"]:
        raise _Bad("subject")
    return statement


def _evidence_matches(statement: dict[str, Any], predicate: dict[str, Any], evidence: bytes) -> bool:
    want = statement["subject"][0]["digest"]["sha256"]
    if hashlib.sha256(evidence).hexdigest() != want:
        return False
    bundle = json.loads(evidence)
    return bool(bundle["lines"] == predicate["lines"] and bundle["erasureId"] == predicate["erasureId"])


def _is_theirs(predicate: dict[str, Any], claim: Claim) -> bool:
    tag = predicate.get("subjectTag")
    try:
        want = subject_tag(claim.nonce, claim.tenant, claim.subject, predicate["erasureId"]).hex()
    except ValueError:
        return False
    return isinstance(tag, str) and hmac.compare_digest(tag, want)


def _chain_holds(
    predicate: dict[str, Any],
    payload: bytes,
    chain: Sequence[bytes] | None,
    keys: Sequence[SSlibKey],
) -> bool:
    """First has no predecessor, every other one; with the chain at hand, each step is walked."""
    if (predicate["sequence"] == 1) != (predicate.get("previous") is None):
        return False
    if chain is None:
        return True
    try:
        members = [_signed_payload(envelope, keys) for envelope in chain]
        known = {hashlib.sha256(m).hexdigest(): _statement(m)["predicate"] for m in members}
    except _Bad:
        return False
    known[hashlib.sha256(payload).hexdigest()] = predicate
    places = {(p["chainId"], p["sequence"]) for p in known.values()}
    if len(places) != len(known):
        return False
    return _walk(predicate, known)


def _walk(predicate: dict[str, Any], known: dict[str, dict[str, Any]]) -> bool:
    here = predicate
    while here["previous"] is not None:
        before = known.get(here["previous"])
        if before is None or before["chainId"] != here["chainId"]:
            return False
        if before["sequence"] != here["sequence"] - 1:
            return False
        here = before
    return bool(here["sequence"] == 1)
