"""How Chinese speakers name themselves in a statement: pieces that the fact rules share."""

from __future__ import annotations

NOW = (
    r"(?:现在|目前|一直|最近|也|还|就|是|都|正|其实|已经|平时|当前|从小|近来|这段时间|刚刚?|近期"
    r"|本人|个人|今年|真的)*"
)
BEFORE = r"(?<![让给跟和对说问叫请帮把被为他她你找带教像是])"
END = r"(?=了?(?:[，。！？,.!\s、；]|$))"
NAME = rf"(?P<it>[A-Za-z][A-Za-z·.\- ]{{1,24}}|[\u4e00-\u9fff·]{{2,5}}?){END}"
# What no name contains: then 叫 or 是 introduced something else.
NO_NAME = r"[了的吗呢吧什么是在去这那它他她你我不很车外]|做什么|一[个声下位名]|老师|医生|人$"
