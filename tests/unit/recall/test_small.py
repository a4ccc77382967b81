"""Validity, breaker and tokens."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from recall.auth import Grant, Tokens
from recall.breaker import Breaker
from recall.problems import Problem
from recall.validity import valid
from schemas.words import ApiRole
from tests.unit.recall.made import NOW, known

DAY = timedelta(days=1)


def test_as_of_a_date() -> None:
    memory = known("Lyon", valid_to=NOW + DAY)
    assert valid(memory, NOW, asked=True)
    assert not valid(memory, NOW + DAY, asked=True)
    assert not valid(memory, NOW - DAY, asked=True)
    # A platform's clock may run ahead of ours, which must not hide what was just said.
    assert valid(memory, NOW - timedelta(hours=1), asked=False)
    assert not valid(memory, NOW - 2 * DAY, asked=False)


def test_expired_at_the_time_asked_about() -> None:
    memory = known("this quarter", expires_at=NOW + DAY)
    assert valid(memory, NOW, asked=False)
    assert not valid(memory, NOW + DAY, asked=True)


def test_january_to_march_and_again_from_september_are_two() -> None:
    memory = known("gym", intervals=((NOW - 30 * DAY, NOW - 20 * DAY), (NOW - 5 * DAY, None)))
    assert not valid(memory, NOW - 40 * DAY, asked=True)
    assert valid(memory, NOW - 25 * DAY, asked=True)
    assert not valid(memory, NOW - 10 * DAY, asked=True)
    assert valid(memory, NOW, asked=False)


def test_a_breaker_opens_and_lets_one_try_again() -> None:
    now = 0.0
    breaker = Breaker(2, 5.0, lambda: now)
    breaker.failed()
    assert not breaker.open
    breaker.failed()
    assert breaker.open
    now = 6.0
    assert not breaker.open  # one may try
    assert breaker.open  # the others wait for its answer
    breaker.succeeded()
    assert not breaker.open


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    path = tmp_path / "tokens.json"
    path.write_text(
        json.dumps(
            {
                "good": {"tenant": "t", "role": "agent"},
                "ana": {"tenant": "t", "role": "person", "subject": "ana"},
                "any": {"tenant": "*", "role": "operator"},
                "padded": {"tenant": " t", "role": "operator"},
                "all": {"tenant": "t", "role": "person", "subject": "%"},
                "odd": {"tenant": "t", "role": "root"},
                "empty": {},
                "wrong": 7,
            }
        )
    )
    return Tokens(path)


def test_a_known_token_fixes_the_scope(tokens: Tokens) -> None:
    assert tokens.grant("Bearer good") == Grant("t", ApiRole.AGENT)
    assert tokens.grant("bearer ana").subject == "ana"


@pytest.mark.parametrize("token", ["any", "padded", "all", "odd", "empty", "wrong", "nobody", ""])
def test_wildcards_and_nonsense_permit_nothing(tokens: Tokens, token: str) -> None:
    with pytest.raises(Problem) as raised:
        tokens.grant(f"Bearer {token}")
    assert raised.value.status == 401


@pytest.mark.parametrize("header", [None, "", "good", "Basic good"])
def test_only_bearer_tokens(tokens: Tokens, header: str | None) -> None:
    with pytest.raises(Problem):
        tokens.grant(header)


def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    tokens = Tokens(path)
    with pytest.raises(Problem):
        tokens.grant("Bearer a")
    path.write_text('{"a": {"tenant": "t", "role": "agent"}}')
    assert tokens.grant("Bearer a").tenant == "t"
    path.write_text("{")
    with pytest.raises(Problem):
        tokens.grant("Bearer a")


@pytest.mark.parametrize(("subject", "tenant", "status"), [("bo", None, 403), ("ana", "u", 403), (None, "u", 403)])
def test_a_request_never_leaves_the_scope(subject: str | None, tenant: str | None, status: int) -> None:
    with pytest.raises(Problem) as raised:
        Grant("t", ApiRole.PERSON, "ana").scoped(subject, tenant)
    assert raised.value.status == status


def test_roles() -> None:
    for role, deed in ((ApiRole.AGENT, "controls"), (ApiRole.AGENT, "forget"), (ApiRole.COMPLIANCE, "recall")):
        with pytest.raises(Problem):
            Grant("t", role).permit(deed)
    Grant("t", ApiRole.OPERATOR).permit("forget")
