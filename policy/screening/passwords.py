"""Passwords, PINs and codes as people say them in Chinese and English.

No maintained detector finds "my password is hunter2" in prose; these patterns do. The value must look like
one: "my password is too weak" says something about a password and holds none.
"""

from __future__ import annotations

import re

from policy.screening.found import PASSWORD, Found

HINTS = (
    *("passw", "passp", "passc", "pwd", "pin", "security", "secret", "cvv", "cvc"),
    *("密码", "口令", "验证码", "密钥", "秘钥", "令牌", "暗号"),
)

_NAME = r"(?:pass(?:word|wd|phrase|code)|pwd|pin(?:[ -]?(?:code|number))?|cvv|cvc|security code|secret (?:word|code))"
_FOR = r"(?: (?:for|to|of|on) [\w .'\-]{1,40}?)?"
_ENGLISH = re.compile(
    rf"(?<![A-Za-z0-9])(?P<name>{_NAME}){_FOR}(?P<link>\s{{0,3}}(?:=>|[:=])\s{{0,3}}|\s{{1,3}}(?:is|was"
    rf"|will be|to|are)(?: now)?:?\s{{1,3}})"
    r"[\"'`\u201c\u2018]?(?P<it>[^\s\0\"'`\u201c\u201d\u2018\u2019\[\]]{3,128})",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?P<name>密码|口令|验证码|密钥|秘钥|令牌|(?<![A-Za-z])(?:pin|PIN|Pin|cvv"
    r"|CVV)码?)(?P<link>\s{0,2}(?:一直|现在|还|就|都)?(?:是|为|叫|[:=：]|改成|改为|设成|设为"
    r"|换成)了?\s{0,2}[:：]?\s{0,2})"
    r"[\"'`\u201c\u2018「]?(?P<it>[!-Z\\^-~]{3,128}|[\u4e00-\u9fff]{2,12}(?=[\s。，,.!！；;」\u201d]|$))"
)
_STRONG = re.compile(r"[\d!@#$%^&*_+=~\\|<>]|.[A-Z]")
_SAYS_NOTHING = frozenset(
    "not the too very wrong incorrect correct weak strong safe secure lost expired compromised required hidden invalid"
    " missing empty stored saved encrypted hashed different same long short easy hard important private secret changed"
    " reset gone here there what this that your you mine login access use change set get never always good bad fine"
    " old new unknown optional protected shared leaked stolen broken in on at for and or none null".split()
)
_ZH_SAYS_NOTHING = re.compile(
    r"什么|多少|[错对不没忘谁哪怎安吗呢吧]|一样|保密|秘密|必须|需要|重要|正确|太|很|我|你|的|了|密码|口令"
)
_EDGE = ".,;!?)"


def find(text: str) -> list[Found]:
    """Return every password, PIN or code that ``text`` gives away."""
    found = [span for match in _ENGLISH.finditer(text) if (span := _english(match))]
    found += [Found(PASSWORD, *match.span("it")) for match in _CHINESE.finditer(text) if _chinese(match)]
    return found


def _english(match: re.Match[str]) -> Found | None:
    value = match["it"]
    # "hunter2Abc!" ends in a mark of its own; "Tom." does not.
    bare = value.rstrip(_EDGE.replace("!", "") if _STRONG.search(value.rstrip("!.,;")) else _EDGE)
    if len(bare) < 3 or bare.lower() in _SAYS_NOTHING:
        return None
    given = ":" in match["link"] or "=" in match["link"]
    last = (
        match.end("it") == len(match.string)
        or value[-1] in _EDGE
        or match.string[match.end("it")] in "\n\"'`\u201d\u2019"
    )
    ascii_only = bare.isascii()
    if ascii_only and (given or _STRONG.search(bare) or last):
        return Found(PASSWORD, match.start("it"), match.start("it") + len(bare))
    return None


def _chinese(match: re.Match[str]) -> bool:
    value = match["it"]
    return value.isascii() or not _ZH_SAYS_NOTHING.search(value)
