"""Which registrations and answers of outside owners count: pure rules."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumers.purger.lines import finished, state_of
from consumers.purger.owners.decide import Answer, Order, Parent, State, decide
from consumers.purger.owners.registration import registration
from consumers.purger.proof import next_look
from policy.acknowledgement import Ordered, refusal, signed_text
from schemas.eraser import Line
from schemas.errors import InvalidEvent
from schemas.events import Derivation, ErasureAck
from schemas.words import ErasureState, LineStatus
from stores.owner_keys import owner_keys
from stores.sealing import Lookup
from streams.codec import Position

KEY = Ed25519PrivateKey.generate()
LOOKUP = Lookup(b"t" * 16, b"k" * 32)
MEMORY = b"m" * 16
ERASURE = b"e" * 16


def signed(key: Ed25519PrivateKey = KEY, **changes: object) -> ErasureAck:
    values = {"erasure_id": ERASURE.hex(), "challenge": "c", "owner": "lab", "state": "done", "expected": 2}
    ack = ErasureAck(**(values | changes))
    return ack.model_copy(update={"signature": base64.urlsafe_b64encode(key.sign(signed_text(ack))).decode()})


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "refused"},
        {"expected": 3},
        {"challenge": "d"},
        {"owner": "lab2"},
        {"evidence": "x"},
        {"erasure_id": "0" * 32},
    ],
)
def test_a_signature_covers_every_field(changed: dict[str, object]) -> None:
    ack = signed()
    assert refusal(ack, Ordered("c", 2), KEY.public_key()) is None
    forged = ack.model_copy(update=changed)
    assert refusal(forged, Ordered("c", 2), KEY.public_key()) in ("bad_signature", "wrong_challenge")


@pytest.mark.parametrize("signature", [None, "", "s", "%%%", "ÿ", "A" * 86])
def test_what_is_no_signature_is_refused(signature: str | None) -> None:
    ack = signed().model_copy(update={"signature": signature})
    assert refusal(ack, Ordered("c", 2), KEY.public_key()) == "bad_signature"


def registered(pos: int, *parents: dict[str, str]) -> object:
    event = Derivation(
        owner="lab",
        artefact="a1",
        kind="k",
        tenant="t",
        parents=parents or ({"memory": MEMORY.hex()},),
        at=datetime.now(UTC),
    )
    return registration(Position(1, 0, pos), event, LOOKUP)


def parent(*, erased: bool = False, tenant: bytes = LOOKUP.tenant_ref) -> State:
    return State(memories={MEMORY: Parent("memory", MEMORY, tenant, b"h" * 16, erased)})


def test_an_artefact_without_a_known_parent_is_not_registered() -> None:
    for state in (State(), parent(tenant=b"o" * 16)):
        found = decide([registered(1)], [], state)
        assert [letter.reason for letter in found.letters] == ["unknown_parent"] and not found.artefacts


def test_an_older_word_on_an_artefact_does_not_bring_an_erased_parent_back() -> None:
    one = registered(5)
    for position, edges in (
        (Position(1, 0, 5), 0),
        (Position(1, 0, 9), 0),
        (Position(1, 0, 4), 1),
        (Position(1, 1, 9), 1),
    ):
        state = State(memories=parent(erased=True).memories, known={one.id: position})
        assert len(decide([one], [], state).edges) == edges


@pytest.mark.parametrize(
    "wrong", [{"memory": "00"}, {"memory": " " * 32}, {"message": "m"}, {"subject": "a b", "message": "m"}]
)
def test_a_malformed_parent_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidEvent):
        registered(1, wrong)


def test_the_last_of_several_answers_in_a_batch_counts_and_done_is_done() -> None:
    order = Order(1, ERASURE, "lab", "c", "erase", 2, "open")
    state = State(orders=[order], keys={"lab": KEY.public_key()})
    place = Position(1, 0, 1)
    later = [
        Answer(place, signed(state="in_progress")),
        Answer(place, signed()),
        Answer(place, signed(state="refused")),
    ]
    found = decide([], later, state)
    assert [ack.state for _, ack in found.answers] == ["done"] and found.repeated == 1


def test_keys_come_in_two_spellings_and_a_bad_file_gives_none(tmp_path, caplog) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    from schemas.settings import Settings

    settings = Settings(home=tmp_path)
    assert owner_keys(settings) == {}
    pem = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    raw = base64.urlsafe_b64encode(KEY.public_key().public_bytes_raw()).decode().rstrip("=")
    import json

    settings.owners_file.write_text(json.dumps({"a": pem, "b": raw, "c": "short", "d": 7}))
    assert owner_keys(settings) == {"a": KEY.public_key(), "b": KEY.public_key()}
    for broken in ("", "[]", "{"):
        settings.owners_file.write_text(broken)
        assert owner_keys(settings) == {}
    assert raw not in caplog.text


def line(status: LineStatus, reason: str | None = None) -> Line:
    return Line("owners.artefacts", "owners", status, (), (), "", 1, 1, None, "owners", "1", reason=reason)


def test_a_silent_owner_keeps_an_erasure_open_and_a_late_one_asks_for_a_person() -> None:
    assert not finished(line(LineStatus.EXTERNAL))
    assert state_of([line(LineStatus.EXTERNAL, "owner_silent")]) is ErasureState.VERIFIED
    assert state_of([line(LineStatus.OPEN, "owner_late")]) is ErasureState.NEEDS_HUMAN
    assert state_of([line(LineStatus.OPEN, "owner_refused")]) is ErasureState.NEEDS_HUMAN
    assert state_of([line(LineStatus.ERASED)]) is ErasureState.FINAL
    at = datetime.now(UTC)
    waits = next_look([line(LineStatus.EXTERNAL)], ErasureState.VERIFIED, at, at - timedelta(days=1))
    assert waits == at + timedelta(minutes=15)
