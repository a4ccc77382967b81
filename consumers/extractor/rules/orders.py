"""Orders to the agent: "remember that ...", "forget that ...", "always answer in French", 以后用中文回答."""

from __future__ import annotations

import re
from dataclasses import dataclass

from consumers.extractor.rules.claim import LAST, NOTES, PREFERENCES, PROFILE, Claim
from policy.text import normalise_key, terms
from schemas.words import MemoryType, Polarity

_REMEMBER = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|and|also|so|but|well|oh|by the way|btw|then)[,!]? )*(?:(?:please|pls"
    r"|just|do|can you|could you|you should|you must|i want you to|i need you to|i'd like you to"
    r"|make sure (?:you|to)|you can)[, ]+)*"
    r"(?:remember|keep in mind|bear in mind|note down|make a note|take note|(?:please )?note"
    r"|don'?t forget|never forget|for (?:future|your) reference|save (?:this|that)|memori[sz]e)"
    r"(?P<link>,? (?:that|(?:this|it)(?=\s*[:,])|the following|for (?:me|later|next time|the future))|:"
    r"|,)*[ :,\u2014-]*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_REMEMBER_ZH = re.compile(
    r"^(?:嗯|好的?|另外|还有|对了|那|你好|请|麻烦|帮忙)?[，, ]?(?:请|麻烦)?(?:你)?(?:能不能|能否|可以"
    r"|能)?(?:一定)?(?:要|得"
    r"|先)?(?:帮我|替我|给我)?(?:牢牢|好好)?(?:记住|记一下|记下来?|记录一?下?|记好|记着|别忘了?"
    r"|不要忘了?|备注一?下?|(?<=请)注意(?=[，,：:])|(?<=请)记得|(?<=要)记得)(?!了|啦|来了|下了)(?P<rest>.*)",
    re.DOTALL,
)
_FORGET = re.compile(
    r"^(?:(?:ok|okay|and|also|so|but|well|actually|no|oh)[,!]? )*(?:(?:please|pls|just|can you"
    r"|could you|you can|you should|i want you to)[, ]+)*"
    r"(?:forget|don'?t remember|stop remembering|unremember|delete|erase|remove|no need to remember|disregard|scratch)"
    r"(?P<about> (?:about|the fact))?(?: (?P<that>that|what i said(?: about)?|it|this|this memory"
    r"|that memory|the last one))?\b[ ,:]*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FORGET_ZH = re.compile(
    r"^(?:算了|不了|那|请|麻烦|好的?|对了)?[，, ]?(?:请|麻烦)?(?:你)?(?:帮我|把)?(?:忘掉|忘了|忘记"
    r"|别记了?|不要记了?|不用记了?|别再记|删除|删掉|清除|撤销)(?P<rest>.*)|^(?:请"
    r"|麻烦)?(?:你)?(?:帮我)?把(?P<rest2>.+?)(?:忘掉|忘了|删除|删掉|删了|忘记)(?:吧|了)?$",
    re.DOTALL,
)
_ANAPHORA = re.compile(
    r"^(?:it|this|that|these|that one|this one|what i (?:just )?said|(?:this|that|the (?:last"
    r"|previous))(?: (?:memory|rule|fact|one|thing|message|note|instruction))?(?: forever| please| now"
    r"| for me)?|please|now|forever|always|for (?:me|later|next time)|well|the rule)?$"
    r"|^(?:这|那|它|此|刚才|上)?(?:一)?(?:条|个|件|句|些|点)?(?:记忆|规则|事情?|话|信息|内容|偏好|说的"
    r"|记录)?(?:吧|了|哦|啊|呀|下来|永远|请|一下)*$",
    re.IGNORECASE,
)
_REMINDER = re.compile(
    r"^to (?!always|never|not)|^when\b|^how\b|^what\b|^where\b|^the (?:time|day|first)|^(?:要|得)?(?:去"
    r"|买|带|打电话|提醒|吃药|开会|交|还|叫)|^(?:yesterday|last)",
    re.IGNORECASE,
)
# A system of record owns these: what it says now is stale tomorrow (W5).
_RECORD = re.compile(
    r"\b(?:order(?:s| number| status)?|tracking|shipment|delivery|balance|stock|inventory|permissions?"
    r"|invoice|ticket number|booking|reservation|appointment)\b|订单|余额|库存|权限|快递|物流|发货|预约"
    r"|预订|航班",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"^(?:that )?(?:my|our) (?:\w+ )?(?:friend|wife|husband|mother|father|mom|mum|dad|brother|sister"
    r"|son|daughter|boss|colleague|partner|girlfriend|boyfriend|neighbou?r|aunt|uncle|grand\w+|cousin"
    r"|roommate|teacher|manager|team ?mate|kid|child)s?\b(?!'s (?:name|birthday)| is [A-Z]\w+$)"
    r"|^(?:he|she|they)\b|^[A-Z][a-z]+ (?:likes|loves|hates|lives|works|prefers|is allergic|was born"
    r"|wants|enjoys|dislikes|can't|doesn't|uses)\b"
    r"|^(?:我的?)?(?:朋友|妈妈?|爸爸?|母亲|父亲|老公|老婆|妻子|丈夫|儿子|女儿|哥哥?|姐姐?|弟弟?|妹妹?"
    r"|同事|老板|男朋友|女朋友|对象|室友|邻居|奶奶|爷爷|外婆|外公|老师|孩子)|^[他她]们?"
)
_ORDER = re.compile(
    r"^(?:(?:please|ok|okay|and|also)[, ]+)*(?:(?P<lasting>from now on|in (?:the )?future|going forward"
    r"|in general|every time|by default|henceforth),?(?: please)?(?: (?P<always2>always|never|don'?t"
    r"|do not))?|(?P<always>always|never))"
    r" (?P<what>(?:you (?:should|must|can) )?(?:answer|reply|respond|write|speak|talk|use|keep|give"
    r"|call|address|send|start|end|include|add|avoid|explain|show|format|be|ask|say|translate"
    r"|summari[sz]e|put|make|refer|quote|cite|provide|skip|suggest|recommend|check|run)\b.{2,120})",
    re.IGNORECASE | re.DOTALL,
)
_ORDER_ZH = re.compile(
    r"^(?:请|麻烦|你|嗯|好的?|那)*[，, ]?(?P<lasting>以后|今后|从现在(?:起|开始)|从今以后|每次|始终"
    r"|永远|一律|总是|默认)(?:都|请|你|也|就|要|得|，|,|请你|一定)*(?P<not>不要|别|不用|不许"
    r"|不能)?(?P<what>(?:用|叫|称呼|回答|回复|说|写|给|先|使用|输出|翻译|保持|简短|简洁|详细|推荐|加|带"
    r"|直接|提醒|解释|以|按|把|在).{1,60})$",
    re.DOTALL,
)
_SLOTS = (
    (
        "response_language",
        re.compile(
            r"\b(?:answer|reply|respond|write|speak|talk)\b.{0,30}\bin (?P<it>[A-Z]\w+)"
            r"|用(?P<it2>[\u4e00-\u9fff]{1,4}[语文话])(?:来|跟我|和我|给我)?(?:回答|回复|交流|说|写|沟通)?",
            re.DOTALL,
        ),
    ),
    (
        "response_length",
        re.compile(
            r"(?P<it>\b(?:(?:very |more )?(?:short|brief|concise|long|detailed)(?:ly|er)?|keep (?:it"
            r"|answers|replies) \w+)\b)|(?P<it2>简短|简洁|简单点|详细|短一点|长一点|精简)",
            re.IGNORECASE,
        ),
    ),
    (
        "nickname",
        re.compile(
            r"\b(?:call|address) me (?:as |by )?(?P<it>[A-Z]\w+(?: [A-Z]\w+)?)|(?:叫"
            r"|称呼)我(?P<it2>[\u4e00-\u9fffA-Za-z]{1,8}?)(?=就?行|就?好|就?可以|吧|$)"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Order:
    """A sentence whose ``rest`` the speaker wants remembered or forgotten; ``offset`` is where it stands."""

    rest: str
    offset: int
    forget: bool = False

    @property
    def points_back(self) -> bool:
        """True where it names nothing: "forget that", "remember this rule"."""
        return _ANAPHORA.match(self.rest.strip(" ,.!。！，")) is not None


_THE_FACT = re.compile(r"(?:这件事情?|这一点|这回事|的?事情?|的记忆|这条记忆|这个偏好)?(?:吧|了)?[。.!！]?$")


def order_in(text: str, chinese: bool) -> Order | None:
    """Return what a sentence orders to be remembered or forgotten, None where it orders neither."""
    plain = text.replace("\u2019", "'")
    match = (_FORGET_ZH if chinese else _FORGET).match(plain)
    if match is not None:
        name = "rest2" if match.groupdict().get("rest2") else "rest"
        rest = _THE_FACT.sub("", match[name] or "").strip()
        return Order(rest, max(match.start(name), 0), forget=True)
    match = (_REMEMBER_ZH if chinese else _REMEMBER).match(plain)
    if match is None or (not chinese and _REMINDER.match(match["rest"]) and match["link"] is None):
        return None
    raw = _ASKED.sub("", match["rest"]) if chinese else match["rest"]
    rest = raw.lstrip("：:，, 、了下来一")
    return Order(rest, match.start("rest") + len(raw) - len(rest))


_ASKED = re.compile(r"(?:吗|好吗|么)$")
_ASKS_FOR = re.compile(r"^(?:please )?(?:can|could|will|would) you\b|^你?(?:能|可以)", re.IGNORECASE)


def asks_for(text: str) -> bool:
    """True where a question is an order in polite words: "can you remember that ..."."""
    return _ASKS_FOR.match(text) is not None


def standing(text: str, chinese: bool) -> Claim | None:
    """Return the standing instruction in a sentence: how the agent is to behave from now on."""
    match = (_ORDER_ZH if chinese else _ORDER).match(text.replace("\u2019", "'"))
    if match is None:
        return None
    what = match["what"].strip(" ,.!。！")
    groups = match.groupdict()
    word = (groups.get("always") or groups.get("always2") or "").lower()
    negative = word in ("never", "don't", "dont", "do not") or groups.get("not") is not None
    key, value = _slot(what, negative)
    return Claim(
        PROFILE if key == "nickname" else PREFERENCES,
        key,
        value,
        match.start(),
        match.start("what") + match["what"].index(what) + len(what),
        "order.standing",
        type=MemoryType.PREFERENCE,
        polarity=Polarity.NEGATIVE if negative else Polarity.POSITIVE,
        confidence=0.9,
        importance=0.75,
        replaces=True,
    )


def _slot(what: str, negative: bool) -> tuple[str, str]:
    for key, pattern in _SLOTS:
        match = pattern.search(what)
        if match is not None and not negative:
            return key, match["it"] or match["it2"]
    return f"instruction.{normalise_key('_'.join(terms(what)[:6]) if what.isascii() else what[:24])}", what


def note(order: Order) -> Claim | None:
    """Return what was to be remembered where no other rule understood it, as a note in the person's words."""
    text = order.rest.strip(" ,.!。！，")
    words = terms(text)
    if (
        order.points_back
        or len(words) < 2
        or _ASKS.search(text)
        or _RECORD.search(text)
        or _REMINDER.match(text)
        or len(text) > 500
    ):
        return None
    begin = order.offset + order.rest.index(text)
    key = "_".join(words[:6]) if text.isascii() else text[:16]
    return Claim(
        NOTES,
        normalise_key(key),
        text,
        begin,
        begin + len(text),
        "order.note",
        confidence=0.9,
        importance=0.7,
        third_party=is_about_others(text),
    )


_ASKS = re.compile(r"吗|什么|哪|多少|怎么|有没有|是不是|帮我|推荐|[?？]")


def is_about_others(text: str) -> bool:
    """True where a statement is about somebody else."""
    return _OTHERS.match(text) is not None


def end_of_last(order: Order) -> Claim:
    """Return the order to take back the newest memory of the conversation."""
    return Claim(
        PROFILE,
        LAST,
        order.rest or LAST,
        0,
        order.offset + len(order.rest),
        "order.forget_last",
        confidence=0.9,
        ends=True,
        target=LAST,
    )
