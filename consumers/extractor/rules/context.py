"""What surrounds a claim: guards that drop it, conditions and times that bound it, marks that weaken it."""

from __future__ import annotations

import re

# A wish inside a service request is a parameter of the request, not a taste: it is proposed weakly.
_REQUEST = re.compile(
    r"电话|地址|评分|人均|门票|票价|酒店|宾馆|餐馆|餐厅|饭店|饭馆|景点|房间|房型|地铁|车牌|车型|出租车"
    r"|打车|预[订定]|订[票房位餐]|多少钱|价[格位]|帮我[找查订选]|找[一个家]|推荐[一个家]|哪家|这家|那家"
    r"|他家|它家|这里|那里|周边|附近|入住|退款|下单|发货|客服"
    r"|\b(?:phone number|address|price range|book (?:a|me|us)|reserv\w+|check[- ]?in|hotel|restaurant"
    r"|guest ?house|taxi|train ticket|flight|per night|postcode|refund|checkout|in the (?:centre|center"
    r"|north|south|east|west))\b",
    re.IGNORECASE,
)
_CHANGED_MIND = re.compile(
    r"\b(?:changed my mind|on second thou?ghts?|correction|i was wrong|i meant|i misspoke"
    r"|scratch that)\b|^\W*(?:no,? )?actually,? (?:my|i)\b|改(?:变)?主意|说错了|更正|纠正一下|我记错了"
    r"|搞错了",
    re.IGNORECASE,
)


def is_request(text: str) -> bool:
    """True where a turn asks a service for something."""
    return _REQUEST.search(text) is not None


def changed_mind(text: str) -> bool:
    """True where the speaker says that what was said before no longer holds."""
    return _CHANGED_MIND.search(text) is not None
