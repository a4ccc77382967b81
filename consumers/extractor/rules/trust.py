"""Whose words are these? Typed text can hold mail, web pages, logs and quotations of others (W7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

from policy.text import fold

# Everything below needs one of these; most turns have none.
_HINT_WORDS = frozenset(
    "from subject to sent cc fw fwd forwarded original wrote email mail page webpage website article"
    " post message doc document documentation tool letter screenshot issue ticket readme log output"
    " comment"
    " note text memo sign emails mails messages pages articles posts docs documents logs comments notes"
    " texts letters".split()
)
# "from" and "to" hint at mail headers only where a colon stands too.
_HEADER_WORDS = frozenset("from subject to sent cc fw fwd".split())
_HINT_MARKS = re.compile(
    r"```|^[ \t]*>|<[a-z!]|-{4,}|[\"\u201c「『]|转发|原文|以下[是为内]|内容如下|邮件|网[页站]|文章|页面"
    r"|截图|通知|公告|说明|短信|消息|文档|工具|日志|帖子|评论|发件人|主题",
    re.MULTILINE,
)
_ASCII_MARKS = ("```", ">", "<", "----", '"')
"""The marks above that are ASCII, without what stands around them."""
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTE_LINES = re.compile(r"^[ \t]*>.*(?:\n|\Z)", re.MULTILINE)
_HEADER = re.compile(
    r"^\s*(?:from|subject|to|sent|date|cc|发件人|主题|收件人|抄送|日期|发送时间)\s*[:：].*\S",
    re.IGNORECASE | re.MULTILINE,
)
# From here to the end: nothing tells where the foreign text stops, so the rest is not trusted.
_TO_END = re.compile(
    r"^[ \t]*-{2,}[ \t]*(?:begin )?(?:forwarded|original) (?:message|e-?mail).*|begin forwarded message"
    r"|^[ \t]*on .{4,80} wrote:|<(?:html|body|div|script|p|!--)[ >]"
    r"|^[ \t]*(?:fwd?|fw)\s*:|^[ \t]*【?转发】?(?:消息|邮件|内容)?\s*[:：\]】]|转发(?:一下"
    r"|给你)?[^，。\n]{0,8}[:：]|原文如下|内容如下|以下(?:是|为|内容)[^。\n]{0,24}[:：]"
    r"|(?:here(?:'s| is)|this is|below is|pasting|i (?:just )?(?:got|received|copied|pasted)) (?:the"
    r"|an?|this|what)? ?[^.\n]{0,40}?(?:e-?mail|mail|page|article|post|message|text|letter|output|log"
    r"|issue|"
    r"ticket|screenshot|comment|memo|note)[^.\n]{0,40}?:",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS = re.compile(
    r"\b(?:the|this|that|an?|my|his|her|their) (?:[\w\-]+ ){0,2}(?:e-?mail|mail|web ?page|website|page"
    r"|article|post|message|doc|document|documentation|tool|letter|screenshot|issue|ticket|readme|log"
    r"|output"
    r"|comment|memo|sign|text)s? (?:from [\w ]{1,30} )?(?:says?|said|reads?|states?|contains?|writes?"
    r"|wrote|asks?|told|tells|showed|shows|claims?|returned)\b.*"
    r"|(?:邮件|网页|网站|文章|页面|截图|通知|公告|说明|短信|消息|文档|工具|日志|帖子|评论)(?:里|中|上"
    r"|里面|内容)?(?:都|还|也)?(?:说|写着?|写道|显示|提到|要求|返回|提示|让).*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"\u201c「『]([^\"\u201c\u201d「」『』\n]{6,2000})[\"\u201d」』]")
_SOMEBODY_SPEAKS = re.compile(
    r"\b(?:i|i'm|my|we|remember|always|never|must|please|ignore|you should|from now on)\b|[我你]|记住"
    r"|请|必须|永远|以后|忽略"
)
_MAX_SPANS = 200


class Stretch(NamedTuple):
    """A stretch of a segment, and whether it is the speaker's own words."""

    start: int
    end: int
    own: bool


def stretches(text: str, words: Set[str]) -> tuple[Stretch, ...]:
    """Cut typed text into the speaker's own words and those of others; ``words`` are those of the text."""
    if not _hints(text, words):
        return (Stretch(0, len(text), True),)
    foreign = _merge(sorted(_foreign(text)))
    cut: list[Stretch] = []
    done = 0
    for start, end in foreign:
        if done < start:
            cut.append(Stretch(done, start, True))
        cut.append(Stretch(start, end, False))
        done = end
    if done < len(text):
        cut.append(Stretch(done, len(text), True))
    return tuple(cut)


def _hints(text: str, words: Set[str]) -> bool:
    hints = words & _HINT_WORDS
    if hints and (not hints <= _HEADER_WORDS or ":" in text):
        return True
    if text.isascii() and not any(map(text.__contains__, _ASCII_MARKS)):
        return False
    return _HINT_MARKS.search(text) is not None


def _foreign(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_FENCE, _QUOTE_LINES, _SAYS):
        yield from (match.span() for match in pattern.finditer(text))
    end = len(text)
    headers = [match.start() for match in _HEADER.finditer(text)][:_MAX_SPANS]
    if len(headers) >= 2:
        yield headers[0], end
    marker = _TO_END.search(text)
    if marker is not None:
        yield marker.start(), end
    for match in _QUOTED.finditer(text):
        if _SOMEBODY_SPEAKS.search(fold(match[1])):
            yield match.span()


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
