"""A receipt checked offline: each way in which one can be wrong has its own word."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import SSlibKey

from policy.receipts import Facts, Signed, plan_digest, sign, subject_tag
from policy.verification import Claim, load_keys, verify
from schemas.eraser import Line
from schemas.words import LineStatus, Property

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ERASURE = "ab" * 16
NONCE = "A" * 43
KEY = Ed25519PrivateKey.generate()
PUBLIC = SSlibKey.from_crypto(KEY.public_key())


def receipt(
    sequence: int = 1,
    previous: str | None = None,
    *,
    key: Ed25519PrivateKey = KEY,
    chain: str = "cd" * 16,
) -> Signed:
    facts = Facts(
        erasure_id=ERASURE,
        chain_id=chain,
        sequence=sequence,
        previous=previous,
        supersedes=None,
        selector="subject",
        state="final",
        tag=subject_tag(NONCE, "t", "anna", ERASURE).hex(),
        plan_digest=plan_digest({"postgres.turns": 3}, "ref"),
        accepted={"postgres.turns": 3},
        fence={"1/0": 7},
        requested_at=NOW,
        blocked_at=NOW,
        issued_at=NOW,
        deadline=NOW,
    )
    line = Line(
        "postgres.turns",
        "postgres",
        LineStatus.ERASED,
        (Property.ABSENT, Property.FENCED, Property.SHREDDED),
        (Property.ABSENT, Property.FENCED, Property.SHREDDED),
        "counted",
        3,
        0,
        NOW,
        "postgres",
        "1",
    )
    return sign(facts, [line], key)


def altered(envelope: bytes, old: bytes, new: bytes) -> bytes:
    body = json.loads(envelope)
    body["payload"] = b64encode(b64decode(body["payload"]).replace(old, new)).decode()
    return json.dumps(body).encode()


def test_a_good_receipt_says_what_was_proven_and_what_was_not_checked() -> None:
    verdict = verify(receipt().envelope, [PUBLIC])
    assert verdict.valid and verdict.unchecked == ("evidence", "chain", "subject")
    assert verdict.as_json()["stores"]["postgres"] == {
        "status": "erased",
        "proven": ["absent", "fenced", "shredded"],
        "before": 3,
        "after": 0,
    }


def test_a_changed_payload_is_a_bad_signature() -> None:
    bad = altered(receipt().envelope, b'"erased"', b'"nothng"')
    verdict = verify(bad, [PUBLIC])
    assert verdict.reasons == ("signature",) and verdict.as_json()["stores"] == {}


def test_a_strangers_key_is_refused_even_under_our_key_id() -> None:
    stranger = Ed25519PrivateKey.generate()
    foreign = receipt(key=stranger).envelope
    assert verify(foreign, [PUBLIC]).reasons == ("key",)
    body = json.loads(foreign)
    body["signatures"][0]["keyid"] = PUBLIC.keyid
    assert verify(json.dumps(body).encode(), [PUBLIC]).reasons == ("signature",)


def test_a_key_inside_the_envelope_is_never_trusted() -> None:
    stranger = Ed25519PrivateKey.generate()
    body = json.loads(receipt(key=stranger).envelope)
    own = SSlibKey.from_crypto(stranger.public_key())
    body["keys"] = body["signatures"][0]["key"] = {"keyid": own.keyid, **own.to_dict()}
    assert verify(json.dumps(body).encode(), [PUBLIC]).reasons == ("key",)
    assert verify(json.dumps(body).encode(), []).reasons == ("key",)


def test_the_key_id_is_only_a_hint() -> None:
    body = json.loads(receipt().envelope)
    body["signatures"][0]["keyid"] = "something else"
    assert verify(json.dumps(body).encode(), [PUBLIC]).valid


def test_a_copy_of_the_document_beside_the_payload_is_ignored() -> None:
    body = json.loads(receipt().envelope)
    body["predicate"] = {"lines": [{"store": "postgres", "status": "open"}]}
    verdict = verify(json.dumps(body).encode(), [PUBLIC])
    assert verdict.as_json()["stores"]["postgres"]["status"] == "erased"


@pytest.mark.parametrize("keys", ["pem", "json", "list", "http"])
def test_public_keys_come_in_four_forms(keys: str) -> None:
    row = {"keyid": PUBLIC.keyid, **PUBLIC.to_dict()}
    pem = KEY.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo).decode()
    http = {"keys": [{"algorithm": "ed25519", "pem": pem}]}
    data = {"pem": pem, "json": json.dumps({"keys": [row]}), "list": json.dumps([row]), "http": json.dumps(http)}
    trusted = load_keys(data[keys].encode())
    assert verify(receipt().envelope, trusted).valid


def test_altered_evidence_and_anothers_evidence_are_named() -> None:
    good = receipt()
    assert verify(good.envelope, [PUBLIC], evidence=good.evidence).valid
    assert verify(good.envelope, [PUBLIC], evidence=good.evidence + b" ").reasons == ("evidence",)


@pytest.mark.parametrize(
    "claim",
    [
        Claim("t", "ben", NONCE),
        Claim("u", "anna", NONCE),
        Claim("t", "anna", "B" * 43),
        Claim("t", "anna", "no nonce!"),
    ],
)
def test_only_the_holder_of_the_nonce_can_show_whose_it_is(claim: Claim) -> None:
    assert verify(receipt().envelope, [PUBLIC], claim=Claim("t", "anna", NONCE)).valid
    assert verify(receipt().envelope, [PUBLIC], claim=claim).reasons == ("subject",)


def test_a_chain_is_walked_to_its_first_receipt() -> None:
    first = receipt()
    second = receipt(2, first.digest.hex())
    third = receipt(3, second.digest.hex())
    both = [first.envelope, second.envelope]
    assert verify(third.envelope, [PUBLIC], chain=both).valid
    assert verify(third.envelope, [PUBLIC], chain=[first.envelope]).reasons == ("chain",)
    assert verify(third.envelope, [PUBLIC], chain=[second.envelope]).reasons == ("chain",)
    assert verify(receipt(2, None).envelope, [PUBLIC]).reasons == ("chain",)
    assert verify(receipt(1, "00" * 32).envelope, [PUBLIC]).reasons == ("chain",)


def test_two_receipts_in_one_place_are_a_fork() -> None:
    first = receipt()
    twin = altered(first.envelope, b'"final"', b'"other"')
    forked = [first.envelope, receipt(2, first.digest.hex()).envelope]
    other = receipt(2, "11" * 32)
    assert verify(other.envelope, [PUBLIC], chain=forked).reasons == ("chain",)
    assert verify(first.envelope, [PUBLIC], chain=[twin]).reasons == ("chain",)


def test_a_predecessor_of_another_chain_does_not_count() -> None:
    foreign = receipt(chain="ee" * 16)
    second = receipt(2, foreign.digest.hex())
    assert verify(second.envelope, [PUBLIC], chain=[foreign.envelope]).reasons == ("chain",)


@pytest.mark.parametrize(
    "envelope",
    [
        b"",
        b"[]",
        b"{}",
        b'{"payload": "!", "payloadType": "x", "signatures": []}',
        b'{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": []}',
        b'{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [1]}',
    ],
)
def test_what_is_no_envelope_is_malformed(envelope: bytes) -> None:
    assert verify(envelope, [PUBLIC]).reasons == ("malformed",)


def test_another_payload_type_is_malformed() -> None:
    body = json.loads(receipt().envelope)
    body["payloadType"] = "text/plain"
    assert verify(json.dumps(body).encode(), [PUBLIC]).reasons == ("malformed",)


def test_the_tag_needs_every_part() -> None:
    tag = subject_tag(NONCE, "t", "anna", ERASURE)
    assert tag == subject_tag(NONCE + "=", "t", "anna", ERASURE)
    assert tag not in (subject_tag(NONCE, "t", "ann", ERASURE), subject_tag(NONCE, "ta", "nna", ERASURE))
