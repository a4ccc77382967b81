"""Screening: spans become their type; nothing of them is left (P4, F10)."""

import re
from collections.abc import Iterator
from importlib import import_module
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.screening import findings, numbers, passwords, screen, screen_object, sensitivity, spans, tokens
from schemas.words import Sensitivity

# The package exports a function of the same name.
findings_module = import_module("policy.screening.findings")
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0\n-----END RSA PRIVATE KEY-----"


def wide(text: str) -> str:
    """Return text in full-width characters, as a Chinese input method types them."""
    return "".join(chr(ord(char) + 0xFEE0) for char in text)


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("my key is sk-test-abc123def456 ok", "sk-test-abc123def456", "secret:api_key"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", "secret:api_key"),
        ("use ghp_" + "a1B2" * 9, "ghp_" + "a1B2" * 9, "secret:api_key"),
        ("xoxb-123456789012-abcdefghijkl", "xoxb-123456789012-abcdefghijkl", "secret:api_key"),
        (f"token {JWT}", JWT, "secret:token"),
        ("Authorization: Bearer abcdef0123456789xyz", "abcdef0123456789xyz", "secret:token"),
        ("postgres://bob:s3cret@db/x", "bob:s3cret", "secret:token"),
        (f"here {PEM} end", PEM, "secret:private_key"),
        ("password: hunter2Abc!", "hunter2Abc!", "secret:password"),
        ("My password is swordfish.", "swordfish", "secret:password"),
        ("my PIN is 4821", "4821", "secret:password"),
        ("the wifi password for guests is bluefish99", "bluefish99", "secret:password"),
        ("我的密码是abc123", "abc123", "secret:password"),
        ("密码：芝麻开门。", "芝麻开门", "secret:password"),
        ("密码改成了" + wide("Aa123456"), wide("Aa123456"), "secret:password"),
        ("验证码是 482913", "482913", "secret:password"),
        ("card 4111 1111 1111 1111 ok", "4111 1111 1111 1111", "payment_card"),
        ("卡号" + wide("4111111111111111"), wide("4111111111111111"), "payment_card"),
        ("IBAN DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00", "bank_account"),
        ("我的身份证号是11010519491231002X", "11010519491231002X", "national_id"),
        ("ssn 219-09-9999", "219-09-9999", "national_id"),
        ("passport number E12345678", "E12345678", "national_id"),
        ("银行账号 6217000010001235", "6217000010001235", "bank_account"),
    ],
)
def test_a_span_becomes_its_type(text: str, secret: str, kind: str) -> None:
    screened = screen(text)
    assert secret not in screened.text
    assert f"[{kind}]" in screened.text
    assert [text[hit.start : hit.end] for hit in screened.hits] == [secret]
    assert screened.hits[0].kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "I love jazz",
        "我对花生过敏。",
        "My pin hint is otter",
        "my password is too weak to use",
        "密码是什么？",
        "密码不对",
        "I was born in 1987 and moved in 2015",
        "The secret is out",
        "We talked about token rings and secret gardens",
        "订单号 2023042712345",
        "4111 1111 1111 1112",
        "Call me at ten",
    ],
)
def test_plain_talk_is_left_alone(text: str) -> None:
    assert screen(text).hits == ()
    assert screen(text).text == text


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("I love jazz", Sensitivity.NONE),
        ("我喜欢爵士乐", Sensitivity.NONE),
        ("I am allergic to peanuts", Sensitivity.SENSITIVE),
        ("我对花生过敏。", Sensitivity.SENSITIVE),
        ("My salary is 5,000", Sensitivity.SENSITIVE),
        ("card [payment_card]", Sensitivity.SENSITIVE),
        ("call 13800138000", Sensitivity.PERSONAL),
        ("call +33 6 12 34 56 78", Sensitivity.PERSONAL),
        ("a.b@example.org", Sensitivity.PERSONAL),
        ("I live at 12 Baker Street", Sensitivity.PERSONAL),
        ("my key is [secret:api_key]", Sensitivity.SECRET),
        ("my key is sk-test-abc123def456", Sensitivity.SECRET),
    ],
)
def test_sensitivity(text: str, level: Sensitivity) -> None:
    assert sensitivity(text) is level


def test_findings_are_fixed_words() -> None:
    assert findings("my mail is a.b@example.org, I have diabetes, card 4111111111111111") == {
        "mail",
        "health",
        "payment",
    }


def test_metadata_is_screened_in_depth() -> None:
    metadata: dict[str, Any] = {
        "password": "x1",
        "nested": [{"card": 4111111111111111, "count": 3, "on": True, "none": None}],
        "sk-test-abcdefgh123": "value",
        "note": "my pin is 4821",
    }
    screened = screen_object(metadata)
    assert screened.value == {
        "password": "[secret:password]",
        "nested": [{"card": "[payment_card]", "count": 3, "on": True, "none": None}],
        "[secret:api_key]": "value",
        "note": "my pin is [secret:password]",
    }
    assert sorted(screened.kinds) == ["payment_card", "secret:api_key", "secret:password", "secret:password"]
    assert screen_object(screened.value) == type(screened)(screened.value, ())


def test_metadata_has_a_floor() -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(5_000):
        inner["a"] = {}
        inner = inner["a"]
    assert screen_object(deep).kinds == ("too_deep",)


_PIECES = st.sampled_from(
    [
        *("password is ", "密码是", "sk-abc12345678", "[secret:api_key]", "4111 1111 1111 1111", "a", " ", "@", "1"),
        *("eyJ", "：", "x9", "-----BEGIN PRIVATE KEY-----", "]", "pin: "),
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=14).map("".join)))
def test_screening_twice_finds_nothing_more(text: str) -> None:
    once = screen(text)
    assert screen(once.text).text == once.text
    position = 0
    for hit in once.hits:
        assert position <= hit.start < hit.end <= len(text)
        position = hit.end


def _open_repeats(tree: Any) -> Iterator[Any]:
    """Yield every repeat that may go on for ever and give back: the only source of more than linear work."""
    for operator, argument in tree:
        if operator in (parser.MAX_REPEAT, parser.MIN_REPEAT) and argument[1] is parser.MAXREPEAT:
            yield argument
        for inner in argument if isinstance(argument, tuple | list) else (argument,):
            if isinstance(inner, parser.SubPattern):
                yield from _open_repeats(inner)
            elif isinstance(inner, list):
                for branch in inner:
                    if isinstance(branch, parser.SubPattern):
                        yield from _open_repeats(branch)


@pytest.mark.parametrize(
    "module", [tokens, passwords, numbers, findings_module, spans], ids=lambda module: module.__name__
)
def test_no_pattern_can_run_away(module: ModuleType) -> None:
    """Work per start is bounded: every repeat has a limit or never gives back what it took."""
    patterns = {name: value for name, value in vars(module).items() if isinstance(value, re.Pattern)}
    assert patterns
    for name, pattern in patterns.items():
        assert not list(_open_repeats(parser.parse(pattern.pattern, pattern.flags))), name


@pytest.mark.parametrize(
    "unit", ["1", "1 ", "4111 1111 1111 1111 ", "GB82 WEST 1234 5698 7654 32 ", "ssn 219-09-9999 ", "A1"]
)
def test_checksums_are_asked_in_proportion(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    real = numbers._valid

    def counting(name: str, number: str) -> bool:
        nonlocal asked
        asked += 1
        return real(name, number)

    monkeypatch.setattr(numbers, "_valid", counting)
    counts = []
    for length in (1 << 15, 1 << 16):
        asked = 0
        screen((unit * length)[:length])
        counts.append(asked)
    assert counts[1] <= 2 * counts[0] + 8


_UNITS = ("1 ", "eyJa.", "password is ", "密码是", "a@")


@pytest.mark.parametrize("unit", _UNITS)
def test_a_megabyte_is_screened(unit: str) -> None:
    text = (unit * (1 << 20))[: 1 << 20]
    screened = screen(text)
    assert len(screened.text) <= 3 * len(text)
