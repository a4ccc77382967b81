"""Commands of a running stack, where their answers must agree with each other and with the contract."""

from __future__ import annotations

import secrets

import pytest

from schemas.words import ErasureState
from tests.running import Pipeline

pytestmark = pytest.mark.integration


def test_consumers_have_one_name_in_wait_and_status(running: Pipeline) -> None:
    # The API reads no topic.
    waited, seen = running.ask("wait")["lag"], running.ask("status")["consumers"]
    assert {*waited, "api"} == set(seen)


def test_a_request_id_of_another_request_is_refused_in_words_of_the_contract(running: Pipeline) -> None:
    tenant, request = "default", f"r-{secrets.token_hex(4)}"
    words = ("forget", "--tenant", tenant, "--request-id", request)
    first = running.ask(*words, "--subject", "ann", "--wait")
    assert (first["request_id"], first["state"]) == (request, "verified")
    again = running.ask(*words, "--subject", "ann", "--wait")
    assert (again["erasure_id"], again["nonce"]) == (first["erasure_id"], None)
    for other in (
        running.ask(*words, "--subject", "bob", "--wait", expect=1),
        running.call("compliance", "POST", "/v1/forget", json={"request_id": request, "subject": "bob"}).json(),
    ):
        assert (other["state"], other["reason"]) == ("cancelled", "request_conflict")
        assert other["erasure_id"] is None
        # No receipt will ever name it.
        assert other["nonce"] is None
    repeated = running.call("compliance", "POST", "/v1/forget", json={"request_id": request, "subject": "ann"}).json()
    assert (repeated["erasure_id"], repeated["nonce"]) == (first["erasure_id"], None)
    [row] = [row for row in running.ask("erasures")["erasures"] if row["request_id"] == request]
    assert row["state"] in set(ErasureState)
