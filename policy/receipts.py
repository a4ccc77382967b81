"""Receipts as values: an in-toto statement in a DSSE envelope, signed with Ed25519 (D9).

Nothing here does I/O. A receipt holds no personal data: the subject appears only as a tag that
the holder of the request's nonce can compute.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import STATEMENT_TYPE_URI, Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from schemas.eraser import Line

PAYLOAD_TYPE = "application/vnd.in-toto+json"
PREDICATE_TYPE = "urn:obelus:erasure:v1"
EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a receipt says besides its lines.

    Attributes:
        erasure_id: hex; what the rest of the world knows the request by.
        chain_id: hex; names the tenant's chain without naming the tenant.
        sequence: place in the chain, from 1.
        previous: payload digest of the receipt before it in the chain; None for the first.
        supersedes: payload digest of this erasure's receipt before; None for its first.
        tag: hex of `subject_tag`, or None where nobody drew a nonce.
        accepted: counts by entry when the request was accepted.
    """

    erasure_id: str
    chain_id: str
    sequence: int
    previous: str | None
    supersedes: str | None
    selector: str
    state: str
    tag: str | None
    plan_digest: str
    accepted: Mapping[str, int]
    fence: Mapping[str, int]
    requested_at: datetime
    blocked_at: datetime | None
    issued_at: datetime
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed receipt: the envelope as JSON, the evidence it stands for, its payload's digest."""

    envelope: bytes
    evidence: bytes
    digest: bytes


def subject_tag(nonce: str, tenant: str, subject: str, erasure_id: str) -> bytes:
    """HMAC that ties a receipt to a person, for whoever holds the nonce and for nobody else.

    Args:
        nonce: 32 bytes in base64url, drawn by whoever asked for the erasure.
        tenant: natural id.
        subject: natural id; "" for a whole tenant.
        erasure_id: hex.

    Raises:
        ValueError: the nonce is not base64url.
    """
    key = urlsafe_b64decode(nonce.rstrip("=") + "=" * (-len(nonce.rstrip("=")) % 4))
    return hmac.digest(key, "\0".join((tenant, subject, erasure_id)).encode(), "sha256")


def plan_digest(counts: Mapping[str, int], scope: str) -> str:
    """Digest of a plan: same scope and same counts, same digest. ``scope`` is a keyed reference."""
    body = json.dumps([scope, sorted(counts.items())], separators=(",", ":"))
    return hashlib.sha256(body.encode()).hexdigest()


def sign(facts: Facts, lines: Sequence[Line], key: Ed25519PrivateKey) -> Signed:
    """Build the evidence bundle and the statement over it, and sign."""
    rows = [line_json(line) for line in lines]
    evidence = orjson.dumps(
        {
            "version": 1,
            "erasureId": facts.erasure_id,
            "acceptedCounts": dict(facts.accepted),
            "fence": dict(facts.fence),
            "lines": rows,
        },
        option=orjson.OPT_SORT_KEYS,
    )
    payload = _statement(facts, rows, hashlib.sha256(evidence).hexdigest())
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(_signer(key))
    return Signed(orjson.dumps(envelope.to_dict()), evidence, hashlib.sha256(payload).digest())


@cache
def _signer(key: Ed25519PrivateKey) -> CryptoSigner:
    return CryptoSigner(key)


def _statement(facts: Facts, rows: list[dict[str, Any]], evidence: str) -> bytes:
    predicate = {
        "erasureId": facts.erasure_id,
        "chainId": facts.chain_id,
        "sequence": facts.sequence,
        "previous": facts.previous,
        "supersedes": facts.supersedes,
        "selector": facts.selector,
        "state": facts.state,
        "subjectTag": facts.tag,
        "planDigest": facts.plan_digest,
        "requestedAt": stamp(facts.requested_at),
        "blockedAt": stamp(facts.blocked_at),
        "issuedAt": stamp(facts.issued_at),
        "deadline": stamp(facts.deadline),
        "lines": rows,
    }
    subject = ResourceDescriptor(name=EVIDENCE, digest={"sha256": evidence})
    # Its rules are about the statement around the predicate, whose every line it would copy.
    statement = Statement([subject.pb], PREDICATE_TYPE, {"erasureId": facts.erasure_id})
    statement.validate()
    # Written from our own values: protobuf's JSON would turn every count into a float.
    document = {
        "_type": STATEMENT_TYPE_URI,
        "subject": [{"name": EVIDENCE, "digest": {"sha256": evidence}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def line_json(line: Line) -> dict[str, Any]:
    """A line as it stands in receipt and evidence."""
    body: dict[str, Any] = {
        "entry": line.entry,
        "store": line.store,
        "status": line.status.value,
        "proven": sorted(line.proven),
        "target": sorted(line.target),
        "method": line.method,
        "before": line.before,
        "after": line.after,
        "observedAt": stamp(line.observed_at),
        "eraser": line.eraser,
        "eraserVersion": line.version,
    }
    if line.expires_at is not None:
        body["expiresAt"] = stamp(line.expires_at)
    if line.reason is not None:
        body["reason"] = line.reason
    return body


def stamp(at: datetime | None) -> str | None:
    """RFC 3339 in UTC with seconds, as in-toto predicates have it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at is not None else None
