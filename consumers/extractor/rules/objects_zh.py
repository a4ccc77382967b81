"""What a Chinese verb governs: 下棋、烤面包和钓鱼 are three things."""

from __future__ import annotations

import re
from collections.abc import Iterator

from consumers.extractor.rules.claim import Part
from policy.text import normalise_key

_MAX_LENGTH = 18
_MAX_PARTS = 12
_STOP = re.compile(
    r"[。！？!?；;：:~…\n—]|[，,](?=.{0,3}(?:因为|所以|但是?|不过|可是?|而且|然后|如果|虽然|尤其是?在"
    r"|特别是?在|还|也|就|都|却|每|让|能|可以|最近|现在|今天|有时|这|那|它|他|她|你|我|您|平时|经常|总"
    r"|觉得|感觉|一直|不))"
    r"|因为|所以|但是|不过|可是|而且|然后|如果|虽然|时候|来(?:放松|缓解|释放|锻炼|保持|打发|充实|提升"
    r"|减压|让)|[，,]?(?:也|还|又|更|却|就|都)(?:很|非常|特别|比较|挺|蛮)?(?:喜欢|爱|讨厌|不喜欢)"
)
_SEPARATOR = re.compile(
    r"、|[，,]?(?:以及|还有|或者是?|或是|并且|及|和|与|跟|或)|[，,]?(?:尤其是?|特别是?|比如说?|例如"
    r"|包括|像是?|主要是?|特别喜欢|尤其喜欢)|[，,]"
)
# Characters around which 和, 与, 及, 或, 跟 are part of a word.
_INSIDE = re.compile(
    r"和(?:[平谐睦气声服式室尚])|[温柔暖缓祥总亲共随缓调中谦饱平][和]|与(?:众不同|世|其|人)|[参给赋]与"
    r"|[普以涉顾提]及|及(?:时|其|格)|或许|跟(?:上|随|着|进|风)|像(?:片|素)|[画图好影偶录雕头摄肖]像"
    r"|包括性"
)
_LEAD = re.compile(
    r"^(?:[，,\s]|的是|是|去|到处去|上了|着|过|看到|那种(?=.+的)|一些|各种各样的?|各种|各类|各式各样的?"
    r"|所有的?|很多|不同的?|尤其是?|特别是?|比如说?|例如|包括|像|一切|于|在空闲时间|在闲暇时"
    r"|有时|偶尔|经常|通常|一个人(?=去))+"
)
_TRAIL = re.compile(
    r"(?:等[^，。、]{0,8}|等等?(?:活动|运动|方面|事情|类型的?|各种.{0,4})?|之类的?.{0,3}|什么的"
    r"|这类的?.{0,4}|这[几两三]种.{0,4}|了|啊|呢|哦|呀|吧|哈|哟|啦|嘛|而已|本身|[\s，,。])+$"
)
_VAGUE = re.compile(
    r"(?<!吉)他|[她它你您咱]|我|这|那(?!么)|该(?!死)|其(?!他|中|实)|此|哪|什么|怎么|如何|谁|自己的?(?!做|动手"
    r"|种|拍|画|写)|刚才|刚刚|以上|上面|大家|别人|人家|两者|对方|今天|昨天|今晚|刚|一下|推荐|建议|聊天"
    r"|聊聊|交流一|说的|提到|里面的|这样|那样|吗|么$|是不是|有没有|哪里|[里中]的|中.{1,6}的|同一|后者"
    r"|前者|最后一|第[一二三]"
)
_CONTEXT = re.compile(
    r"的$|^的|^(?:就|还|也|都|又|才|不|没|很|太|真|说|想|要|让|使|把|被|给|有$|有了|可以|能|会|觉得"
    r"|感觉|认为|知道|希望|应该|必须|已经|正在|其中|一直|好像|似乎|是|做$|看$|听$|吃$|喝$|玩$|去$|来$"
    r"|人$|时$)"
)
_CONSUME = re.compile(
    r"^[吃喝](?:一?些)?(?=.)|^(?:听|看|读|打|玩|去|品尝|品|阅读|观看|听听|看看|做|练习|练|学习|学|养"
    r"|使用|用|享受)(?:一?些)?(?=..)"
)
# Making is not distributed: 写歌词和剧本 likes to write both, and not to read the second.
_MAKES = re.compile(r"^(?:去)?(?:写|做|画|弹|唱|创作|收集|收藏|拍摄|制作|烹饪|演奏)")
_SHORT = 6


def parts(rest: str, offset: int) -> Iterator[Part]:
    """Yield the things that ``rest``, the text right after a verb, names; ``offset`` is where it stands."""
    stop = _STOP.search(rest)
    body = rest[: stop.start()] if stop else rest
    for count, (begin, end, after_comma) in enumerate(_split(body)):
        part = _clean(body, begin, end)
        # After a comma only a short name goes on the list; a longer run is a statement of its own.
        if part is None or count >= _MAX_PARTS or (after_comma and len(part.text) > _SHORT):
            return
        if part.text:
            yield Part(part.text, part.start + offset, part.end + offset)


def _split(body: str) -> Iterator[tuple[int, int, bool]]:
    begin, after_comma = 0, False
    cuts: list[tuple[int, int, bool]] = []
    for cut in _SEPARATOR.finditer(body):
        if cut.start() < begin or _inside(body, cut):
            continue
        cuts.append((begin, cut.start(), after_comma))
        begin, after_comma = cut.end(), cut[0] in ("，", ",")
    cuts.append((begin, len(body), after_comma))
    items = [body[a:b] for a, b, _ in cuts]
    if (_shares_attribute(items) and "、" not in body) or _is_place(items):
        cuts = [(cuts[0][0], cuts[-1][1], False)]
    yield from cuts


def _shares_attribute(items: list[str]) -> bool:
    """True for 法国的电影，音乐和美食: what follows shares the attribute of the first and is one thing with it."""
    return (
        len(items) > 1 and "的" in items[0][1:-1] and all(1 < len(item) <= 3 and "的" not in item for item in items[1:])
    )


_VERB = re.compile(r"[写做画弹唱听看读打玩去吃喝跑游爬跳骑养旅摄编烹健散逛学练品泡种钓拍烤滑登]|下棋|收藏")


def _is_place(items: list[str]) -> bool:
    """True for 在公园、河边和山里跑步: places of one doing, which stands at the end."""
    return len(items) > 1 and items[0].startswith("在") and _VERB.search(items[0]) is None


# 简单和耐用的工具: both attributes belong to what follows 的.
_ATTRIBUTE = re.compile(r"[^，。、和]{1,4}的[^，。、]{1,6}$")


def _inside(body: str, cut: re.Match[str]) -> bool:
    """True where what looks like "and" is part of a word, or stands inside a title."""
    left, right = body[: cut.start()], body[cut.end() :]
    if left.count("《") > left.count("》") or left.count("\u201c") > left.count("\u201d"):
        return True
    if cut[0] == "与":
        # Spoken lists use 和; 与 stands in titles and names.
        return True
    if cut[0][-1] in "和、" and _ATTRIBUTE.match(right) and "的" not in left and (cut[0] == "和" or len(left) <= 2):
        return True
    if cut[0][-1] in "和及或" and _MAKES.match(left.rpartition("、")[2]) and not _VERB.match(right):
        return True
    if cut[0][-1] not in "和与及或跟像":
        return False
    around = body[max(0, cut.start() - 1) : cut.end() + 3]
    # 和朋友一起: with somebody, not and; a bare attribute before it ("热闹和安静的街道") is left whole.
    return (
        _INSIDE.search(around) is not None
        or re.match(r"朋友|家人|同事|别人|他人|同学|大家|孩子|人(?![物文像体类生造工格])", right) is not None
    )


def _clean(body: str, begin: int, end: int) -> Part | None:
    """Return the thing without what does not belong to it; None where the list has ended."""
    text = body[begin:end]
    lead = _LEAD.match(text)
    if lead:
        begin += lead.end()
    text = _TRAIL.sub("", body[begin:end])
    if not text:
        return Part("", begin, begin)
    if len(text) > _MAX_LENGTH + (6 if "《" in text else 0) or _VAGUE.search(text) or _CONTEXT.search(text):
        return None
    return Part(text, begin, begin + len(text))


def object_key(text: str) -> str:
    """Return the key of a thing: 听爵士乐 and 爵士乐 share one."""
    bare = text.strip("\u201c\u201d\"' ")
    if bare.startswith("《"):
        return normalise_key(bare.strip("《》"))
    return normalise_key(_CONSUME.sub("", bare) or bare)
