"""What a person or a project uses: "I now use Helix", "Go for this project's backend", 项目用 PostgreSQL.

Only known things (``lexicon``) fill a slot; a mere "I use this" is no choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from consumers.extractor.rules import lexicon, purposes
from consumers.extractor.rules.claim import WORK, Claim
from policy.text import normalise_key
from schemas.words import MemoryType, Polarity

_THING = "|".join(sorted(map(re.escape, lexicon.SLOT_OF), key=len, reverse=True))
_NAMED = re.compile(
    rf"(?<![A-Za-z0-9_.\-])(?P<thing>(?:{_THING}))(?P<version> ?v?\d+(?:\.\d+)*)?(?![A-Za-z0-9_\-+#])", re.IGNORECASE
)
# Chinese prose without a Latin letter names few of them, and is not searched for the rest.
_COULD_NAME = re.compile(r"[A-Za-z]|云|鸿蒙|统信|达梦|手机")
_BEFORE_EN = re.compile(
    r"(?:(?P<who>\bI(?:'m|'ve| am| have)?|\bwe(?:'re|'ve)?|\bour (?:team|company|stack|project|app)"
    r"|\b(?:the|this|my) (?:project|app|service|backend|frontend|repo|team)(?:'s (?:backend|frontend))?"
    r"|\b(?P<name>[A-Z][\w\-]*))"
    r"(?P<adverbs>(?: (?:now|currently|mostly|mainly|always|usually|just|recently|finally|primarily"
    r"|only|actually|generally|do|have|both|all|been|both))*) "
    r"(?:(?P<no>no longer (?:uses?|using)|(?:don'?t|doesn'?t|do not|does not) use|stopped using|used to use)"
    r"|(?P<moved>switched (?:from [\w .+#]{2,24} )?to|moved (?:from [\w .+#]{2,24} )?to"
    r"|migrated (?:from [\w .+#]{2,24} )?to|changed to)|uses?|using|runs?(?: on)?|running(?: on)?"
    r"|works? with|writes?(?: (?:code |everything )?in)?|codes? in|prefers?|is (?:built|written"
    r"|based) (?:on|in|with)|program in|chose|went with|go with)"
    r"|(?P<order>\bI meant|^(?:please |always |let'?s |from now on,? |actually,? |no,? )*(?:use|switch to|go with"
    r"|change (?:it |that )?to|make (?:it|that)))"
    r"|(?P<not>\bnot [\w .+#]{2,24},? but)) (?:the |a )?(?:language |database |editor )?$",
    re.IGNORECASE,
)
_BEFORE_ZH = re.compile(
    r"(?P<who>我们?(?:公司|团队|项目)?|项目|后端|前端|服务|系统|数据库|编辑器"
    r"|(?P<name>[A-Za-z][\w\-]*))?(?:的?(?:数据库|编辑器|语言|后端|前端|缓存|框架))?(?P<adverbs>(?:现在"
    r"|目前|平时|一直|主要|一般|都|就|默认|已经|也|还是|最近|还)*)"
    r"(?:(?P<no>不再?用|不再?使用|弃用)|(?P<moved>改成|改为|改用|换成|换为|换到|切换到|切到|迁移到|迁到"
    r"|换用|转用|改回)了?|使用|用的?是?|采用|选用?|基于|(?P<not>我?(?:说|指)的是|不是.{1,12}[，,]?(?:而)?是))\s?$"
)
# How far before a thing the choice of it may stand, and how many things one sentence may name.
_REACH = 100
_MAX_NAMED = 16
_GOES_ON = re.compile(r",? (?:and|but|while) (?:(?:I )?(?:use|prefer) )?|, ")
_BARE = re.compile(r"^(?:by default|in general|generally)$", re.IGNORECASE)
_NOT_ANYMORE = re.compile(r"\b(?:anymore|any more|any longer)\b|了$", re.IGNORECASE)
_PEOPLE = re.compile(
    r"^(?:he|she|they|you|it|everyone|who|which|that|people|someone|nobody|somebody|can|could|to|or|and|if|but)$",
    re.IGNORECASE,
)


def find(text: str, conditions: bool) -> Iterator[Claim]:
    """Yield choices of known things; ``conditions`` says that conditions were taken out of the sentence."""
    if _COULD_NAME.search(text) is None:
        return
    last: Claim | None = None
    for match in islice(_NAMED.finditer(text), _MAX_NAMED):
        slot = lexicon.SLOT_OF[match["thing"].lower()]
        base = max(0, match.start() - _REACH)
        # The mark keeps a cut from looking like the start of the sentence; offsets count it back.
        before = "\0" * (base > 0) + text[base : match.start()]
        claim = (
            _english(match, slot, before)
            or _with_purpose(match, slot, before)
            or _chinese(match, slot, before)
            or _bare(match, slot, text, conditions)
        )
        if claim is not None and base:
            claim = replace(claim, start=max(0, claim.start + base - (base > 0)))
        purpose = purposes.behind(text, match.end())
        if (
            claim is None
            and last is not None
            and (purpose or conditions)
            and _GOES_ON.fullmatch(text, last.end, match.start())
        ):
            # "I use VS Code for Python and Vim for Rust": the second choice has subject and verb of the first.
            claim = _claim(match, slot, last.start, replaces=last.replaces, ends=last.ends)
        if claim is None:
            continue
        if purpose is not None:
            claim = replace(claim, conditions=(*claim.conditions, purpose[0]), end=purpose[1])
        last = claim
        yield claim


def _english(match: re.Match[str], slot: str, before: str) -> Claim | None:
    how = _BEFORE_EN.search(before.replace("\u2019", "'"))
    if how is None:
        return None
    key = slot
    if how["name"]:
        # A person who uses a thing is somebody else; a system that does is part of the work.
        if _PEOPLE.match(how["name"]) or slot not in lexicon.SYSTEM_SLOTS:
            return None
        key = f"{normalise_key(how['name'])}.{slot}"
    ended = how["no"] is not None
    replaces = (
        how["moved"] is not None
        or how["not"] is not None
        or how["order"] is not None
        or "now" in (how["adverbs"] or "").lower()
    )
    claim = _claim(match, key, how.start(), replaces=replaces or ended, ends=ended)
    purpose = purposes.ahead(before[: how.start()])
    return replace(claim, conditions=(purpose,)) if purpose else claim


def _with_purpose(match: re.Match[str], slot: str, before: str) -> Claim | None:
    found = purposes.ahead_zh(before, slot)
    if found is None:
        return None
    purpose, replaces = found
    return replace(_claim(match, slot, 0, replaces=replaces), conditions=(purpose,))


def _chinese(match: re.Match[str], slot: str, before: str) -> Claim | None:
    how = _BEFORE_ZH.search(before)
    if how is None or re.search(r"[他她你它]们?$|朋友$|同事$|老板$", before[: how.start()]):
        return None
    if how["who"] is None and before[: how.start()].strip(" ，,。") and how["moved"] is None and how["not"] is None:
        return None
    key = f"{normalise_key(how['name'])}.{slot}" if how["name"] and slot in lexicon.SYSTEM_SLOTS else slot
    ended = how["no"] is not None
    replaces = how["moved"] is not None or how["not"] is not None or "现在" in (how["adverbs"] or "")
    return _claim(match, key, how.start(), replaces=replaces or ended, ends=ended)


def _bare(match: re.Match[str], slot: str, text: str, conditions: bool) -> Claim | None:
    """Read "Python by default" and, where a condition was named, "Go"."""
    rest = text[match.end() :].strip(" .。!！")
    alone = match.start() < 4 and not text[: match.start()].strip(" ")
    if alone and (_BARE.match(rest) or (conditions and not rest)):
        return _claim(match, slot, match.start())
    return None


def _claim(match: re.Match[str], key: str, start: int, *, replaces: bool = False, ends: bool = False) -> Claim:
    return Claim(
        WORK,
        key,
        match["thing"] + (match["version"] or ""),
        start,
        match.end(),
        "tool.ended" if ends else "tool.use",
        type=MemoryType.FACT if "." in key else MemoryType.PREFERENCE,
        polarity=Polarity.NEUTRAL if ends else Polarity.POSITIVE,
        confidence=0.85,
        importance=0.6,
        replaces=replaces,
        ends=ends,
    )
