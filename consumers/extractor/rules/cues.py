"""The prefilter: which families of rules could match, judged by words alone.

Nearly every turn of a service dialogue and about half of a chat hold no cue at all, and cost a few microseconds.
It may name a family too often, never leave out one that would match.
"""

from __future__ import annotations

import re

from consumers.extractor.rules import lexicon

# CONDITION can carry a sentence without a verb, BOUND only narrows what another family finds.
TASTE, FACT, GOAL, TOOL, ORDER, CONDITION, BOUND, FIRST = (1 << bit for bit in range(8))
_PERSONAL = TASTE | FACT | GOAL
_FINDS = _PERSONAL | TOOL | ORDER | CONDITION

_ENGLISH = {
    TASTE: "like love enjoy prefer adore fancy hate dislike detest loathe despise stand bear into fond keen"
    " passionate interested crazy obsessed addicted fan lover enthusiast passion weakness spot"
    " tired sick care favourite favorite favourites favorites preferred hobby hobbies interest"
    " interests passions pastime pastimes loved liked enjoyed hated",
    FACT: "name name's live reside living based moved relocated come came born birthday birthday's job"
    " occupation profession work study studying studied graduated school college university major"
    " majored dog dogs cat cats rabbit rabbits hamster hamsters parrot parrots goldfish turtle turtles"
    " bird birds horse horses puppy puppies kitten kittens pet pets son sons daughter daughters"
    " children child kid kids brother brothers sister sisters sibling siblings twins married divorced"
    " single engaged vegetarian vegan pescatarian flexitarian eat drink allergic allergy diabetes"
    " asthma"
    " epilepsy adhd autism depression bipolar hypertension pressure cancer arthritis migraine migraines"
    " celiac insomnia anxiety speak native introvert introverted extrovert extroverted outgoing shy"
    " optimistic optimist pessimistic sensitive curious adventurous perfectionist owl bird romantic"
    " sociable personality quit left resigned learning teaching taking practicing practising years year"
    " old"
    " call calls hi hello hey greetings i'm am grew play intolerant manager boss supervisor mentor wife husband partner"
    " girlfriend boyfriend roommate doctor lawyer assistant used longer anymore stopped gave given",
    GOAL: "plan planned planning intend intending aim aiming goal determined decided set preparing saving"
    " training working dream dreaming resolved want wanted hope hoping wish like going looking ambition"
    " resolution target",
    ORDER: "remember keep bear note don't never forget future reference save memorize memorise delete erase"
    " remove disregard scratch unremember stop always from going general time default henceforth every",
    CONDITION: "weekdays weekday weekends weekend default monday tuesday wednesday thursday friday saturday sunday"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays morning afternoon evening"
    " night summer winter spring autumn phone laptop project project's work home years",
    BOUND: "when whenever except but during before after school dinner lunch breakfast bed office tablet computer"
    " desktop ipad mobile week workdays repo repository codebase fall night at",
    FIRST: "i i'm i've i'd my me",
}
_FLAGS: dict[str, int] = {}
for _flag, _words in _ENGLISH.items():
    for _word in _words.split():
        _FLAGS[_word] = _FLAGS.get(_word, 0) | _flag
for _word in (*lexicon.JOB_WORDS, *lexicon.NATION_WORDS):
    _FLAGS[_word] = _FLAGS.get(_word, 0) | FACT
for _word in lexicon.SLOT_OF:
    # Of a name of several words the last one stands for all; versions are cut off before the look-up.
    _FLAGS[_word.split()[-1]] = _FLAGS.get(_word.split()[-1], 0) | TOOL

_STRIP = str.maketrans(dict.fromkeys(',.!?;:"()\u201c\u201d\u2014-/', " ") | {"\u2019": "'"})
_ASCII_STRIP = bytes(range(256)).lower().translate(bytes.maketrans(b',.!?;:"()-/', b" " * 11))
"""The same for ASCII, small letters included: a table of bytes costs a third."""
_CHINESE = re.compile(
    r"喜[欢爱]|[热偏钟酷]爱|我(?:最|也|都|还|很|就|更|真|特别|非常)*爱|[最还也]爱|爱好|兴趣|特长|讨厌"
    r"|受不[了住]|厌恶|反感|不[爱吃喝习]|恨|忍受|情有独钟|着迷|痴迷|沉迷|热[衷情]|享受|迷|粉丝|控|发烧"
    r"|看不惯|名字|[叫名]|我是|[家居我]住|住在|定居|生活在|家在"
    r"|搬|来自|长大|会[弹拉吹打]|老家|家乡|出生|职业|工作|上班|[任就供]职|实习|就读|经理|老板|上司|主管|领导|导师|妻子"
    r"|丈夫|老[婆公]|朋友是|室友|律师|助理|[吃喝]|毕业|专业|主修|岁|生日|养|有|已婚|未婚|单身|离异|婚"
    r"|过敏|糖尿病|高血|哮喘|会说|母语|内向|外向|性格|个性|敏感|素|清真|学|练|打算|计划|目标|梦想|愿望"
    r"|理想|准备|决[心定]|希望|期待|渴望|想|筹|备考|立志"
    r"|[记忘删]|注意|清除|撤销|备注|以后|今后|从现在|从今|每次|始终|永远|一律|总是|默认|改[成为用回]|换"
    r"|切[换到]|迁[移到]|转用|不再|以前|曾经|从前|戒|不是|周末|工作日|平日|[早晚]上|用|采用|辞职|离职|年|选|基于"
)
_ASCII_WORD = re.compile(r"[A-Za-z]")


def words_of(text: str) -> set[str]:
    """Return the lower-cased words of a text."""
    if text.isascii():
        return set(text.encode().translate(_ASCII_STRIP).decode().split())
    return set(text.translate(_STRIP).lower().split())


def families(words: set[str]) -> int:
    """Return the families of rules that could match an English sentence of these words, as bits."""
    flags = 0
    for word in words & _FLAGS.keys():
        flags |= _FLAGS[word]
    if not flags & FIRST:
        flags &= ~_PERSONAL
    # Only what can find something counts; what merely narrows comes along.
    return flags & ~FIRST if flags & _FINDS else 0


def in_chinese(text: str) -> bool:
    """True where a Chinese rule, or a rule for known things, could match."""
    return _CHINESE.search(text) is not None or (_ASCII_WORD.search(text) is not None and families(words_of(text)) != 0)


def worth_reading(text: str, words: set[str]) -> bool:
    """True where a rule could match a turn of these words."""
    return (not text.isascii() and _CHINESE.search(text) is not None) or families(words) != 0
