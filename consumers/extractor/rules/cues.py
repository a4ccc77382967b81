"""The prefilter: does a turn hold any word without which no rule can match?

Nine of ten turns of a service dialogue and about half of a chat hold none, and cost a few microseconds.
"""

from __future__ import annotations

import re

from consumers.extractor.rules import lexicon

_ENGLISH = frozenset(
    "like love enjoy prefer adore fancy hate dislike detest loathe despise stand bear fond keen passionate interested crazy obsessed addicted fan lover enthusiast passion tired sick into"
    " favourite favorite favourites favorites preferred hobby hobbies interest interests loved liked enjoyed"
    " name call live living based moved relocated born birthday old years engineer teacher student work major studied graduated dog cat cats dogs rabbit hamster parrot pet pets son sons daughter"
    " daughters kids children brother sister siblings married divorced single engaged vegetarian vegan pescatarian eat drink allergic allergy diagnosed speak native introverted introvert shy outgoing"
    " sensitive optimistic personality quit learning studying practicing practising plan planning planned intend intending aim aiming goal goals dream resolution determined decided preparing training saving want hope"
    " hoping wish going remember forget delete note mind future always never weekdays weekends default no use uses using switched runs from i'm am french chinese".split()
)
_FIRST = frozenset("i i'm i've i'd my me remember forget delete note keep from always never call please by".split())
_STRIP = str.maketrans(dict.fromkeys(',.!?;:"()\u201c\u201d', " ") | {"\u2019": "'"})
_CHINESE = re.compile(
    r"喜[欢爱]|[热偏钟酷]爱|我(?:最|也|都|还|很|就|更|真|特别|非常)*爱|爱好|兴趣|讨厌|受不了|厌恶|反感|不[爱吃喝]|忍受|情有独钟|着迷|热衷|享受|我叫|名字|叫我|我是|我(?:家|现在|目前|一直)*住|搬[到去来家]|来自|老家|家乡|出生|职业|工作|上班|任职|就读|毕业|专业|岁"
    r"|生日|养[了着]|我(?:家里?)?有|已婚|未婚|单身|离异|过敏|糖尿病|高血压|哮喘|会说|母语|内向|外向|性格|敏感|素食|吃素|在学|学习|练习|自学|开始学|打算|计划|目标|梦想|愿望|准备|决[心定]|希望|想|记[住得下一着录好]|别忘|不要忘|忘[掉了记]|别记|不用记|不要记|删[除掉]|撤销|以后|今后|从现在|每次|始终|永远"
    r"|一律|改[成为用]|换[成为到用]|切[换到]|迁[移到]|不再|粉丝|迷|不是|周末|工作日|用|采用|辞职|离职|年"
)
_TOOLS = frozenset(word for word in lexicon.SLOT_OF if " " not in word)


def worth_reading(text: str) -> bool:
    """True where a rule could match; it says yes too often and never wrongly no."""
    if not text.isascii() and _CHINESE.search(text) is not None:
        return True
    words = set(text.translate(_STRIP).lower().split())
    if not words.isdisjoint(_TOOLS):
        return True
    return not words.isdisjoint(_FIRST) and not words.isdisjoint(_ENGLISH) or not words.isdisjoint(_VERBLESS)


_VERBLESS = frozenset(("weekdays", "weekends", "default", "years"))
