"""Machine credentials: API keys, tokens, private keys.

Every pattern begins at a boundary and its repetition is possessive, so that a megabyte of lookalikes is
read once: a quadratic search here would let one turn stop a partition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from policy.screening.found import API_KEY, PRIVATE_KEY, TOKEN, Found

# Substrings of lower-cased text without which no pattern below can match.
HINTS = (
    *("sk-", "sk_", "rk_", "pk_", "akia", "asia", "abia", "acca", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("github_pat_", "xox", "eyj", "bearer", "-----begin", "aiza", "glpat-", "npm_", "://", "hf_", "ya29.", "sg."),
    *("token", "secret", "key"),
)

_KEYS = re.compile(
    r"(?<![\w\-])(?:"
    r"sk-[\w\-]{8,256}+|[srp]k_(?:live|test)_\w{8,128}+|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,16}+"
    r"|gh[pousr]_\w{20,255}+|github_pat_\w{20,255}+|xox[abeoprs]-[\w\-]{8,255}+|AIza[\w\-]{30,64}+"
    r"|glpat-[\w\-]{16,64}+|npm_\w{30,64}+|hf_[A-Za-z0-9]{20,64}+|SG\.[\w\-]{16,64}\.[\w\-]{16,64}+"
    r"|ya29\.[\w\-]{20,512}+"
    r")"
)
_JWT = re.compile(r"(?<![\w\-])eyJ[\w\-=]{8,8192}+\.[\w\-=]{8,8192}+(?:\.[\w\-=]{0,8192}+)?")
_BEARER = re.compile(r"(?<!\w)bearer[ \t]{1,4}(?P<it>[\w\-.~+/]{12,4096}+=*+)", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)(?P<it>[^\s\0/:@\[\]]{1,64}:[^\s\0/:@\[\]]{1,128})@")
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----[\w+/=\s:,.\\]*+(?:-{5}END [A-Z0-9 ]{0,32}-{5})?"
)
_NAMED = re.compile(
    r"(?<![A-Za-z0-9])(?:api|access|auth|secret|client|app|private)[ _\-]?(?:key|token|secret)(?:[ _\-]?(?:id|key))?"
    r"\s{0,3}(?:is|are|was|=|:|=>|是|为)\s{0,3}[\"'`]?(?P<it>[\w\-./+=~]{8,512}+)",
    re.IGNORECASE,
)
# A word looks like a credential where letters and digits mix: the maintained detectors see only those.
_WORD = re.compile(r"(?<![!-~])[!-~]{20,512}(?![!-~])")
_MIXED = re.compile(r"(?=\D{0,512}\d)(?=[^A-Za-z]{0,512}[A-Za-z])")
# Structured detectors alone: the entropy and keyword ones flag plain sentences.
_PLUGINS = {
    "artifactory": ("ArtifactoryDetector", API_KEY),
    "azure_storage_key": ("AzureStorageKeyDetector", API_KEY),
    "cloudant": ("CloudantDetector", API_KEY),
    "discord": ("DiscordBotTokenDetector", TOKEN),
    "gitlab_token": ("GitLabTokenDetector", TOKEN),
    "mailchimp": ("MailchimpDetector", API_KEY),
    "npm": ("NpmDetector", TOKEN),
    "pypi_token": ("PypiTokenDetector", TOKEN),
    "sendgrid": ("SendGridDetector", API_KEY),
    "slack": ("SlackDetector", TOKEN),
    "square_oauth": ("SquareOAuthDetector", TOKEN),
    "telegram_token": ("TelegramBotTokenDetector", TOKEN),
    "twilio": ("TwilioKeyDetector", API_KEY),
}


def find(text: str) -> list[Found]:
    """Return every credential in ``text``."""
    found = [Found(API_KEY, *match.span()) for match in _KEYS.finditer(text)]
    found += [Found(TOKEN, *match.span()) for match in _JWT.finditer(text)]
    found += [Found(TOKEN, *match.span("it")) for match in _BEARER.finditer(text)]
    found += [Found(TOKEN, *match.span("it")) for match in _USERINFO.finditer(text)]
    found += [Found(PRIVATE_KEY, *match.span()) for match in _PEM.finditer(text)]
    found += [Found(API_KEY, *match.span("it")) for match in _NAMED.finditer(text) if _credible(match["it"])]
    found += _maintained(text)
    return found


def _credible(value: str) -> bool:
    """True where a named value is no plain word: "the API key is required" names none."""
    return any(char.isdigit() for char in value) or (len(value) > 24 and "_" in value)


def _maintained(text: str) -> Iterator[Found]:
    for word in _WORD.finditer(text):
        if not _MIXED.match(word[0]):
            continue
        for kind, detector in _detectors():
            if any(True for _ in detector.analyze_string(word[0])):
                yield Found(kind, *word.span())
                break


@cache
def _detectors() -> tuple[tuple[str, Any], ...]:
    from importlib import import_module

    return tuple(
        (kind, getattr(import_module(f"detect_secrets.plugins.{module}"), name)())
        for module, (name, kind) in _PLUGINS.items()
    )
