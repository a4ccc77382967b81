"""Chinese likes and dislikes: 我喜欢爵士乐, 我受不了香菜, 我最喜欢的编辑器是 Vim."""

from __future__ import annotations

import re
from collections.abc import Iterator

from consumers.extractor.rules import lexicon
from consumers.extractor.rules.claim import PREFERENCES, WORK, Claim
from consumers.extractor.rules.objects_zh import object_key, parts
from schemas.words import MemoryType, Polarity

_ADVERB = (
    r"(?:自己|本人|个人|从小|从来|平时|平常|通常|一般|其实|一直|真的|真是|真|也|还|都|很|非常|特别|比较"
    r"|最近|最|更|挺|蛮|超级|超|十分|相当|尤其|主要|就|是|确实|现在|以前就|向来|总是|总|经常|常常|多少"
    r"|有点|有些|依然"
    r"|仍然|始终|格外|极其|越来越|已经|反而|倒是|只|同样|当然|可|好|太|特|确实|再也|再|个人|自己|空闲时"
    r"|闲暇时|业余时间|有空|没事|周末|说实话|老实说|实在|大多数?时候)"
)
# What may stand before 我: a greeting, a connective; anything else makes 我 part of another statement.
_OPENING = re.compile(
    r"^(?:嗯+|恩+|哦+|噢|哈+|嗨|好的?|好吧|好啊|是的?|对了?|对的|对啊|是啊|当然了?|没错|没有|不用|其实"
    r"|另外|而且|但是?|不过|可是?|因为|由于|所以|同时|还有|此外|首先|其次|除此之外|除了.{1,14}|平时"
    r"|平常|一般|通常|以前|一直|说实话|老实说|最近|现在|今天|关于.{1,8}"
    r"|你好|您好|你知道|你也知道|要知道|怎么说呢|这么说吧|虽然|然而|只是|也许|可能|总的来说|总之|比如"
    r"|那|那么|嘿|啊|呃|额|记住|请记住|我说|如你所知|事实上|实际上|目前|并且|或者|然后|再说|至于.{1,10}"
    r"|在.{1,10}方面|作为.{1,14}|从小到?大?|小时候起?|工作之余|闲暇时?|周末|我改主意了|更正|不)*$"
)
_POSITIVE = (
    r"(?:最?喜欢|最?喜爱|热爱|偏爱|钟爱|酷爱|享受|偏好|热衷于?|痴迷于?|着迷于?|沉迷于?|迷恋|迷上了?"
    r"|爱上了?|最爱|(?<![可恋亲敬])爱(?![情人好心意惜护慕称])|情有独钟于?)"
)
_NEGATIVE = (
    r"(?:不太?喜欢|不怎么喜欢|不是很喜欢|不大喜欢|不爱|不太爱|不怎么爱|从不喜欢|没那么喜欢|讨厌|厌恶"
    r"|受不了|受不住|反感|痛恨|最恨|恨|不能忍受|忍受不了|无法忍受|看不惯|吃不惯|喝不惯|不习惯)"
)
_TASTE = re.compile(
    rf"我(?P<adverbs>{_ADVERB}*)(?:(?P<ended>不再|已经不|不那么)(?:喜欢|爱|热衷于?|迷恋)"
    rf"|(?P<negative>{_NEGATIVE})|(?P<positive>{_POSITIVE}))(?!的)(?P<rest>.+)",
    re.DOTALL,
)
# A clause without 我 that goes on from one that had it.
_GOES_ON = re.compile(
    rf"^(?P<adverbs>(?:而且|并且|同时|但是?|不过|可是?|却|尤其)?{_ADVERB}*)"
    rf"(?:(?P<negative>{_NEGATIVE})|(?P<positive>{_POSITIVE}))(?!的)(?P<rest>.+)",
    re.DOTALL,
)
_FAVOURITE = re.compile(
    r"我(?:个人|本人|平时|一直|现在|目前)?(?P<degree>最|比较|特别|非常|很)?(?:喜欢|喜爱|爱|钟爱"
    r"|常用)(?:看|听|吃|喝|玩|做|去|读)?的(?P<noun>[^，。是]{0,10}?)(?:还?是|就是|应该是|当属|有"
    r"|包括)(?P<rest>.+)"
)
_MOST = re.compile(
    r"(?:^|[，,、])(?P<what>[^，。、我你他她它这那]{1,16}?)(?:一直|也|就|才|还|都)?是我(?:的)?(?:最爱"
    r"|最?(?:喜欢|爱|喜爱|钟爱)(?:看|听|吃|喝|玩|做|去)?的(?P<noun>[^，。！]{0,8})(?:之一)?)"
)
_HOBBY = re.compile(
    r"我的?(?:主要|平时的?|业余|个人|最大的?)?(?:兴趣爱好|爱好|兴趣|业余爱好|特长)(?:主要|一般|就|也"
    r"|还)?(?:是|有|包括|在于)(?P<rest>.+)"
)
_TOWARDS = re.compile(
    rf"我(?P<adverbs>{_ADVERB}*)(?:(?P<not>对(?P<what2>[^，。]{{1,16}}?)(?:没有?什么?|不太?|不怎么"
    rf"|一点都不|毫无)(?:感?兴趣|感冒))|对(?P<what>[^，。]{{1,16}}?)(?:{_ADVERB}|一直)*(?:感?有?兴趣"
    rf"|着迷|痴迷|情有独钟|充满(?:了)?(?:热情|兴趣|好奇)))"
)
_FAN = re.compile(
    rf"我{_ADVERB}*(?:是|算是)(?:一?[个名位])?(?:忠实的?|资深的?|超级|狂热的?"
    rf"|铁杆)?(?P<what>[^，。、的一]{{1,10}}?)(?:迷|爱好者|粉丝|发烧友|控)(?=$|[，。！、])"
)
_CHANGED = re.compile(r"现在|最近开始|改成|以后|如今|了$")
_ENDS = re.compile(r"不(?:太|怎么)?(?:喜欢|爱)[^，。]{1,16}了$")


def find(clause: str, goes_on: bool = False) -> Iterator[Claim]:
    """Yield every taste that the speaker states in a clause; ``goes_on`` where the clause before spoke of 我."""
    if "我" in clause:
        # The richer shapes first: 我最喜欢的编辑器是 Vim is no taste for 的编辑器.
        found = list(_shapes(clause))
        yield from found or _taste(_TASTE.search(clause), clause)
    elif goes_on:
        yield from _taste(_GOES_ON.match(clause), clause)


def _taste(match: re.Match[str] | None, clause: str) -> Iterator[Claim]:
    if match is None or not _OPENING.match(clause[: match.start()].strip(" ，,、")):
        return
    ended = match.groupdict().get("ended") is not None or _ENDS.search(clause) is not None
    negative = match["negative"] is not None and not ended
    replaces = ended or _CHANGED.search(match["adverbs"]) is not None or clause.endswith("了")
    found = list(parts(match["rest"], match.start("rest")))
    if len(found) == 1 and (key := _best(match, object_key(found[0].text))) is not None:
        yield _single(key, found[0].text, match.start(), found[0].end, replaces)
        return
    for part in found:
        yield Claim(
            PREFERENCES,
            f"likes.{object_key(part.text)}",
            part.text,
            match.start(),
            part.end,
            "zh.ended" if ended else "zh.dislike" if negative else "zh.like",
            type=MemoryType.PREFERENCE,
            polarity=Polarity.NEUTRAL if ended else Polarity.NEGATIVE if negative else Polarity.POSITIVE,
            confidence=0.85,
            importance=0.6 if negative else 0.5,
            replaces=replaces,
            ends=ended,
        )


def _best(match: re.Match[str], thing: str) -> str | None:
    """Return the slot of a favourite (我最喜欢蓝色, 我现在更喜欢蓝色), None for a mere liking."""
    if match["positive"] is None:
        return None
    degree = match["adverbs"] + match["positive"]
    return lexicon.class_key(thing) if "最" in degree or ("更" in degree and "现在" in degree) else None


def _shapes(clause: str) -> Iterator[Claim]:
    for pattern, make in (
        (_FAVOURITE, _favourite),
        (_MOST, _most),
        (_HOBBY, _hobby),
        (_TOWARDS, _towards),
        (_FAN, _fan),
    ):
        match = pattern.search(clause)
        if match is not None and _OPENING.match(clause[: match.start()].strip(" ，,、")):
            yield from make(match)


def _favourite(match: re.Match[str]) -> Iterator[Claim]:
    key = (
        lexicon.favourite_key(re.sub(r"^(?:一[个种部本首道]|那[个种])", "", match["noun"]))
        if match["degree"] == "最"
        else None
    )
    found = list(parts(match["rest"], match.start("rest")))
    for part in found:
        if key is not None and len(found) == 1:
            yield _single(key, part.text, match.start(), part.end, "现在" in match[0] or match.string.endswith("了"))
        else:
            yield _like(part.text, match.start(), part.end, "zh.favourite")


def _most(match: re.Match[str]) -> Iterator[Claim]:
    what = match["what"]
    key = lexicon.favourite_key(match["noun"] or "")
    if re.search(r"什么|哪|谁|吗|也许|今天|刚|看到|觉得|都|其中", what):
        return
    if key is not None and "之一" not in match[0]:
        yield _single(key, what, match.start("what"), match.end(), "现在" in match.string[: match.end()])
    else:
        yield _like(what, match.start("what"), match.end(), "zh.favourite")


def _hobby(match: re.Match[str]) -> Iterator[Claim]:
    for part in parts(match["rest"], match.start("rest")):
        yield _like(part.text, match.start(), part.end, "zh.hobby")


def _towards(match: re.Match[str]) -> Iterator[Claim]:
    negative = match["not"] is not None
    what, start = (match["what2"], match.start("what2")) if negative else (match["what"], match.start("what"))
    for part in parts(what, start):
        yield _like(part.text, match.start(), match.end(), "zh.interest", negative)


def _fan(match: re.Match[str]) -> Iterator[Claim]:
    for part in parts(match["what"], match.start("what")):
        yield _like(part.text, match.start(), match.end(), "zh.fan")


def _like(what: str, start: int, end: int, rule: str, negative: bool = False) -> Claim:
    return Claim(
        PREFERENCES,
        f"likes.{object_key(what)}",
        what,
        start,
        end,
        rule,
        type=MemoryType.PREFERENCE,
        polarity=Polarity.NEGATIVE if negative else Polarity.POSITIVE,
        importance=0.55,
    )


def _single(key: str, what: str, start: int, end: int, replaces: bool = False) -> Claim:
    return Claim(
        PREFERENCES if key.startswith("favourite.") else WORK,
        key,
        what,
        start,
        end,
        "zh.favourite",
        type=MemoryType.PREFERENCE,
        polarity=Polarity.POSITIVE,
        confidence=0.9,
        importance=0.6,
        replaces=replaces,
    )
