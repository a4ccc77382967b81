"""Chinese facts about the speaker: 我叫…, 我住在…, 我在…工作, 我养了…, 我对…过敏, 我在学…."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from consumers.extractor.rules import lexicon
from consumers.extractor.rules.claim import HEALTH, PROFILE, Claim
from consumers.extractor.rules.objects_zh import object_key, parts
from policy.text import normalise_key
from schemas.words import Polarity

_NOW = r"(?:现在|目前|一直|最近|也|还|就|是|都|正|其实|已经|平时|当前|之前|从小|近来|这段时间|刚刚?|近期|本人|个人|今年|真的)*"
_BEFORE = r"(?<![让给跟和对说问叫请帮把被为他她你找带教像是])"
_END = r"(?=了?(?:[，。！？,.!\s、；]|$))"
_NAME = rf"(?P<it>[A-Za-z][A-Za-z·.\- ]{{1,24}}|[\u4e00-\u9fff·]{{2,5}}?){_END}"
_PLACE = rf"(?P<it>[^，。！？,.!\s、；的了我你他她这那]{{2,12}}?)(?:这边|附近|里面|市区)?{_END}"
_NOT_PLACE = re.compile(r"家里?$|附近$|学校|公司|酒店|宾馆|一个|哪|什么|外面|楼|房子|公寓|宿舍|这里|这儿|那里|单位|民宿|郊区$|城里|乡下")
_JOB = lexicon.OCCUPATIONS_ZH.pattern
_PET = r"(?:狗狗?|小狗|猫咪?|小猫|兔子|仓鼠|鹦鹉|金鱼|鱼|乌龟|鸟|马|柯基|金毛|哈士奇|泰迪|布偶猫?|橘猫|英短|加菲猫|宠物)"
_ALLERGEN = r"(?P<it>[^，。！？我你他她的]{1,12}?)"
_CONDITION = r"(?P<it>糖尿病|高血压|高血脂|哮喘|癫痫|抑郁症|焦虑症|躁郁症|胃病|心脏病|乙肝|关节炎|偏头痛|痛风|贫血|失眠症|多动症|鼻炎|颈椎病)"
_VAGUE_LEARNING = re.compile(r"^(?:如何|怎么|怎样|一些|一个|一门|一项|一种|新的?|更多|很多|着|会|到|完|过|上|业|校|期|历|位|费|得|如|了|好|不|东西|知识|技能|的|和|如|去|学|中$|生|院|管理情绪|自己|应该|方面|任务|时|时候|工作)|新技能|新的|问题|知识$|技能$|东西|课程$|时$|方法|技巧$|[吗呢]|任务|压力|这|那|你|他|我|考试|成绩")

Maker = Callable[[re.Match[str]], Claim | None]


def find(clause: str, goes_on: bool = False) -> Iterator[Claim]:
    """Yield every stable fact that the speaker states about themselves in a clause."""
    if goes_on and "我" not in clause:
        # The subject of the clause before goes on: 我叫小明，今年28岁.
        for claim in find(f"我{clause}"):
            yield replace(claim, start=max(claim.start - 1, 0), end=claim.end - 1)
        return
    if "我" in clause:
        for cue, pattern, make in _RULES:
            if not any(map(clause.__contains__, cue)):
                continue
            for match in pattern.finditer(clause):
                claim = make(match)
                if claim is not None:
                    yield claim
    if "学" in clause or "练" in clause:
        yield from _learning(clause)


def _fact(key: str, rule: str, importance: float = 0.6, *, replaces: bool = False, ends: bool = False) -> Maker:
    def make(match: re.Match[str]) -> Claim | None:
        value = match["it"].strip(" ，。")
        return value and Claim(
            PROFILE,
            key,
            value,
            match.start(),
            match.end(),
            rule,
            confidence=0.9,
            importance=importance,
            replaces=replaces or "现在" in match[0] or "改" in match[0],
            ends=ends,
            conditional=False,
        ) or None

    return make


def _keyed(prefix: str, rule: str, importance: float = 0.5, namespace: str = PROFILE, *, negative: bool = False) -> Maker:
    def make(match: re.Match[str]) -> Claim | None:
        value = match["it"]
        what = match.groupdict().get("what") or value
        return Claim(
            namespace,
            f"{prefix}.{normalise_key(what)}",
            value,
            match.start(),
            match.end(),
            rule,
            polarity=Polarity.NEGATIVE if negative else Polarity.NEUTRAL,
            confidence=0.9,
            importance=importance,
            conditional=False,
        )

    return make


def _name(match: re.Match[str]) -> Claim | None:
    if re.search(_NO_NAME, match["it"]):
        return None
    return _fact("name", "zh.name", 0.9)(match)


def _nickname(match: re.Match[str]) -> Claim | None:
    value = re.sub(r"(?:就?行|就?好|就?可以|吧|哦|呀|啦)+$", "", match["it"])
    claim = _fact("nickname", "zh.nickname", 0.7)(match) if len(value) > 1 else None
    return claim and replace(claim, value=value, end=match.start("it") + len(value))


def _relation(match: re.Match[str]) -> Claim | None:
    if not _IS_NAME.fullmatch(match["it"]) or re.search(_NO_NAME, match["it"]):
        return None
    return _keyed("relation", "zh.relation", 0.55)(match)


_IS_NAME = re.compile(r"[\u4e00-\u9fff·]{2,4}|[A-Z][A-Za-z ]{1,20}")
_NO_NAME = r"[了的吗呢吧什么是在去这那它他她你我不很车外]|做什么|一[个声下位名]|老师|医生|人$"


def _home(match: re.Match[str]) -> Claim | None:
    if _NOT_PLACE.search(match["it"]):
        return None
    moved = re.search(r"搬|现在|改", match[0]) is not None
    return _fact("home", "zh.home", 0.7, replaces=moved)(match)


def _place(key: str, rule: str) -> Maker:
    def make(match: re.Match[str]) -> Claim | None:
        return None if _NOT_PLACE.search(match["it"]) else _fact(key, rule)(match)

    return make


def _employer(match: re.Match[str]) -> Claim | None:
    value = match["it"]
    if re.search(r"^(?:考虑|寻找|换|家|这|那|一|努力|认真|忙|加班|不|好好|找|公司|单位|办公室|外面|现在|周末|当前|那边|目前)|[了的我你他她找]$|找新|里$", value):
        return None
    return _fact("employer", "zh.employer", 0.6)(match)


def _learning(clause: str) -> Iterator[Claim]:
    match = _LEARNING.search(clause)
    if match is None or (match["who"] is None and not _ALONE.match(clause)):
        return
    for part in parts(match["rest"], match.start("rest")):
        if _VAGUE_LEARNING.search(part.text) or len(part.text) > 10:
            return
        yield Claim(
            PROFILE,
            f"learning.{object_key(part.text)}",
            part.text,
            match.start(),
            part.end,
            "zh.learning",
            confidence=0.7,
            importance=0.45,
            conditional=False,
        )


_ALONE = re.compile(r"^(?:最近|目前|现在|近来|这段时间|近期|其实)")
_LEARNING = re.compile(
    rf"(?P<who>我)?(?:最近|现在|目前|正|一直|也|还|开始|刚刚?|近来|这段时间|近期|其实|有|都)*(?P<in>在|正在|开始|自)(?:努力|认真|业余时间)?(?P<verb>学习|自学|学着?(?![习生校期会到完业过位])|练习|练(?!习)|研习)(?P<rest>[^。！？]+)"
)
# A rule is tried only where one of its pieces stands in the clause.
_JOB_CUE = tuple("师员生士人家理计者者手演译授管监顾问编辑机厨警销售客服运营老板教练博士")
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], Maker], ...] = (
    (("叫", "名",), re.compile(rf"{_BEFORE}我(?:的?(?:名字|全名|本名))?(?:叫做?|是叫|名叫|的名字(?:叫做?|是))(?:做)?{_NAME}"), _name),
    (("叫我", "称呼我",), re.compile(rf"(?:可以|直接|就|请)?(?:叫|称呼)我{_NAME}"), _nickname),
    (("住", "定居", "生活在", "家在", "搬",), re.compile(rf"{_BEFORE}我{_NOW}(?:居?住在|定居在?|生活在|家住|家在|搬到了?|搬去了?|搬来了?|搬家到了?){_PLACE}"), _home),
    (("来自", "老家", "出生", "家乡",), re.compile(rf"{_BEFORE}我{_NOW}(?:来自|老家在|老家是|出生在|的?家乡是?在?|的?老家是?在?){_PLACE}"), _place("hometown", "zh.origin")),
    (("人",), re.compile(rf"{_BEFORE}我{_NOW}(?P<it>[\u4e00-\u9fff]{{2,4}})人{_END}(?<!个人)(?<!的人)(?<!本人)(?<!好人)(?<!家人)(?<!爱人)(?<!大人)(?<!年轻人)(?<!老人)(?<!女人)(?<!男人)(?<!客人)(?<!证人)(?<!有人)(?<!没人)(?<!情人)"), lambda m: _native_of(m)),
    (_JOB_CUE, re.compile(rf"{_BEFORE}我{_NOW}(?:不是[^，。]{{1,12}}[，,]?(?:而)?是|是|当|做|担任|从事)(?:一?[名位个]|着)?(?P<it>{_JOB})(?!们|的|家|工作室){_END}"), _fact("job", "zh.job", 0.7)),
    (("职业", "工作是", "本职",), re.compile(rf"我的?(?:职业|工作|本职)是(?:一?[名位个])?(?P<it>{_JOB}){_END}"), _fact("job", "zh.job", 0.7)),
    (("工作", "上班", "职", "实习",), re.compile(rf"{_BEFORE}我{_NOW}(?:在|就职于|任职于|供职于)(?P<it>[^，。！？\s]{{2,16}}?)(?:工作|上班|任职|就职|实习|当差){_END}"), _employer),
    (("读", "上学", "念书", "学习",), re.compile(rf"{_BEFORE}我{_NOW}在(?P<it>[^，。！？\s的我你他]{{2,14}}?(?:大学|学院|中学|高中|小学|学校))(?:读书|上学|念书|就读|学习|读研|读博|读大[一二三四])"), _fact("school", "zh.school", 0.55)),
    (("毕业", "就读",), re.compile(rf"{_BEFORE}我{_NOW}(?:毕业于|就读于)(?P<it>[^，。！？\s我你他]{{2,16}}){_END}"), _fact("school", "zh.school", 0.55)),
    (("专业", "主修",), re.compile(rf"我(?:的?专业是|学的是|主修|读的是)(?P<it>[^，。！？\s我你他这那什]{{2,12}}?)(?:专业)?{_END}"), _fact("major", "zh.major", 0.55)),
    (("岁",), re.compile(rf"{_BEFORE}我{_NOW}(?P<it>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})(?:周)?岁"), _fact("age", "zh.age", 0.6)),
    (("生日",), re.compile(r"我的?生日(?:就?是|在)(?P<it>(?:农历|阴历)?(?:\d{1,4}年)?\d{1,2}月\d{1,2}[日号]?)"), _fact("birthday", "zh.birthday", 0.7)),
    (("养",), re.compile(rf"我{_NOW}养(?:了|着|过)?(?P<it>(?:[一两二三四几\d][只条头个匹]|一对)?(?:[\u4e00-\u9fff]{{1,3}}?的?)?(?P<what>{_PET})(?:[，,]?(?:它|名字|名)?(?:叫|名叫|取名)[\u4e00-\u9fffA-Za-z]{{1,6}})?){_END}"), _keyed("has", "zh.pet", 0.6)),
    (("有",), re.compile(rf"我(?:家里?)?{_NOW}有(?:了)?(?P<it>[一两二三四几\d]?[只条个匹](?:[\u4e00-\u9fff]{{1,3}}?的?)?(?P<what>狗狗?|小狗|猫咪?|小猫|兔子|仓鼠|鹦鹉|乌龟|宠物|儿子|女儿|孩子|小孩|哥哥|姐姐|弟弟|妹妹|双胞胎)(?:叫[\u4e00-\u9fffA-Za-z]{{1,6}})?){_END}"), _keyed("has", "zh.has", 0.6)),
    (("婚", "单身", "离异",), re.compile(rf"{_BEFORE}我{_NOW}(?P<it>已婚|未婚|单身|离异|结婚了|离婚了|订婚了){_END}"), _fact("marital_status", "zh.marital", 0.6)),
    (("素", "清真",), re.compile(rf"{_BEFORE}我{_NOW}(?:是|吃)(?:一?个)?(?P<it>素食主义者|素食者|纯素主义者|素|全素|清真)(?:了|的)?{_END}"), _fact("diet", "zh.diet", 0.85)),
    (("吃", "喝"), re.compile(rf"{_BEFORE}我{_NOW}(?:从来?|一直|平时|平常)*(?:不能?[吃喝]|[吃喝]不了)(?P<it>(?!饭|药|早|午|晚|了|完|饱|过|好|到|上|醉|太|多|这|那|什么|得|惯|下|的)[^，。！？、；我你他她]{{1,8}}?){_END}"), _keyed("diet", "zh.diet_avoids", 0.8, negative=True)),
    (("是", "叫"), re.compile(rf"我的?(?P<what>经理|老板|上司|主管|领导|导师|老婆|妻子|老公|丈夫|儿子|女儿|女朋友|男朋友|室友|医生|律师|助理)(?:的名字)?(?:是|叫做?){_NAME}"), _relation),
    (("过敏",), re.compile(rf"{_BEFORE}我{_NOW}对{_ALLERGEN}(?:严重|有点|轻微|会|非常|很|有)?过敏"), _keyed("allergy", "zh.allergy", 0.95, HEALTH)),
    (("有", "得", "患", "确诊"), re.compile(rf"{_BEFORE}我{_NOW}(?:有|得了|患有|确诊了?|得过|患了){_CONDITION}"), _keyed("condition", "zh.condition", 0.9, HEALTH)),
    (("会说",), re.compile(rf"{_BEFORE}我{_NOW}会说(?P<it>[\u4e00-\u9fff]{{1,4}}[语话文](?:[、和][\u4e00-\u9fff]{{1,4}}[语话文]){{0,3}}){_END}"), _keyed("speaks", "zh.speaks", 0.55)),
    (("母语",), re.compile(rf"我的?母语是(?P<it>[\u4e00-\u9fff]{{2,5}}){_END}"), _fact("native_language", "zh.native_language", 0.55)),
    (("性格", "个性",), re.compile(r"我的?(?:个性|性格)(?:其实|本来|一直|天生|向来|是|属于)*(?:比较|有些|有点|很|偏|非常|挺|蛮|相对)*(?P<it>内向|外向|开朗|敏感|害羞|腼腆|乐观|悲观|安静|活泼|随和|急躁|慢热)"), _fact("personality", "zh.personality", 0.5)),
    (("内", "外", "开朗", "敏", "害羞", "腼", "观", "安静", "活泼", "性", "慢热", "完美"), re.compile(rf"{_BEFORE}我{_NOW}(?:是|属于)(?:一?个)?(?:比较|很|非常|有些|有点|偏|挺|蛮|特别|相对|性格|十分)*(?P<it>(?:内向|外向|开朗|敏感|害羞|腼腆|乐观|悲观|安静|活泼|感性|理性|慢热|完美主义)(?:[、和且又](?:内向|外向|开朗|敏感|害羞|腼腆|乐观|悲观|安静|活泼|感性|理性))?)(?:型|类型)?(?:的人|的性格|者|的女孩|的男生|的女生|的男孩)?{_END}"), _fact("personality", "zh.personality", 0.5)),
    (("不住", "不再住",), re.compile(rf"{_BEFORE}我{_NOW}(?:不再?|已经不)住在?{_PLACE}(?:了)?"), _fact("home", "zh.home_ended", ends=True)),
    (("辞职", "离职",), re.compile(rf"{_BEFORE}我{_NOW}(?P<it>辞职|离职)了"), _fact("employer", "zh.job_ended", ends=True)),
    (("年",), re.compile(rf"我{_NOW}(?:在|做)(?P<what>[^，。我你他这那]{{2,12}}?)(?:工作|待|干|做)了?(?P<it>\d{{1,2}}年|[一二两三四五六七八九十]{{1,3}}年)了?{_END}"), _keyed("tenure", "zh.tenure", 0.5)),
)  # fmt: skip


def _native_of(match: re.Match[str]) -> Claim | None:
    """Read 我是四川人 and nothing like 我是一个…的人."""
    value = re.sub(r"^(?:是|一个|个)", "", match["it"])
    if len(value) < 2 or re.search(r"[的个本有没是一种年轻普通成家好坏能会在当做哪什负责当事合伙主持过来]", value):
        return None
    if "是" not in match[0]:
        return None
    return Claim(PROFILE, "hometown", value, match.start(), match.end(), "zh.origin", confidence=0.85, importance=0.6, conditional=False)
