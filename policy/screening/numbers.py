"""Payment and identity numbers, recognised by checksum or by a name beside them."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from policy.screening.found import ACCOUNT, CARD, NATIONAL_ID, Found

HINTS = ("iban", "passport", "护照", "身份证", "账号", "帐号", "卡号", "driver", "驾照", "社保", "港澳")

# Bounded, and begun only where no digit stands before: a megabyte of digits is cut, not searched again.
_NUMBER = re.compile(r"(?<![\dA-Za-z])\d(?:[ \-.]?\d){6,33}[Xx]?(?![A-Za-z])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_CODICE = re.compile(r"(?<![A-Za-z0-9])[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z](?![A-Za-z0-9])")
_SSN = re.compile(r"(?<![\d\-])\d{3}-\d{2}-\d{4}(?![\d\-])")
_IDENTITY_CUE = re.compile(
    r"\b(?:ssn|social security|national id|identity (?:card|number|document)|id (?:card|number|no)"
    r"|passport|aadhaar|cpf|dni"
    r"|nie|nino|national insurance|tax id|driver'?s? licen[cs]e|nhs number)|身份证|护照|社保|驾照|驾驶证|通行证",
    re.IGNORECASE,
)
_ACCOUNT_CUE = re.compile(
    r"\b(?:bank )?account (?:number|no)|\brouting number|\biban\b|银行账[户号]|银行卡|[账帐]号|卡号|开户", re.IGNORECASE
)
_NAMED = re.compile(r"(?<![A-Za-z0-9])(?=[A-Z0-9\-]{0,3}\d)[A-Z0-9][A-Z0-9\-]{5,19}(?![A-Za-z0-9])")
# How far behind its name a number may stand.
_REACH = 40
_NATIONAL = (
    "us.ssn", "br.cpf", "es.dni", "es.nie", "gb.nhs", "fr.nir", "de.idnr", "kr.rrn", "pl.pesel", "ca.sin", "au.tfn",
    "in_.aadhaar", "nl.bsn", "se.personnummer", "tr.tckimlik", "za.idnr", "cl.rut", "mx.curp",
)  # fmt: skip
# Checksums strong enough to stand without a name beside the number.
_ALONE = ("fr.nir", "kr.rrn")


def find(text: str) -> list[Found]:
    """Return every card, account and identity number in ``text``."""
    found = [
        Found(kind, match.start(), match.end())
        for match in _NUMBER.finditer(text)
        if (kind := _kind(match)) is not None
    ]
    found += [Found(NATIONAL_ID, *match.span()) for match in _SSN.finditer(text) if _valid("us.ssn", match[0])]
    found += [Found(ACCOUNT, *match.span()) for match in _IBAN.finditer(text) if _valid("iban", match[0])]
    found += [
        Found(NATIONAL_ID, *match.span()) for match in _CODICE.finditer(text) if _valid("it.codicefiscale", match[0])
    ]
    found += _named(text, _IDENTITY_CUE, NATIONAL_ID)
    return found


def _kind(match: re.Match[str]) -> str | None:
    """Decide what a run of digits is, the strongest evidence first."""
    number = re.sub(r"[ .\-]", "", match[0])
    before = match.string[max(0, match.start() - _REACH) : match.start()]
    if len(number) == 18 and _valid("cn.ric", number.upper()):
        return NATIONAL_ID
    if 13 <= len(number) <= 19 and number[0] in "23456" and _valid("luhn", number):
        return CARD
    if any(_valid(name, number) for name in _ALONE):
        return NATIONAL_ID
    if _IDENTITY_CUE.search(before):
        return NATIONAL_ID
    if _ACCOUNT_CUE.search(before):
        return ACCOUNT
    return None


def _named(text: str, cue: re.Pattern[str], kind: str) -> list[Found]:
    """Find a document number right behind its name: "passport E12345678"."""
    found = []
    for match in cue.finditer(text):
        number = _NAMED.search(text, match.end(), match.end() + _REACH)
        if number and sum(map(str.isdigit, number[0])) >= 5:
            found.append(Found(kind, *number.span()))
    return found


def _valid(name: str, number: str) -> bool:
    return bool(_module(name).is_valid(number))


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")
