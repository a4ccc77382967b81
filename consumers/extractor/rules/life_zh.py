"""Chinese facts of how the speaker lives: work, school, family, pets, diet, health."""

from __future__ import annotations

import re

from consumers.extractor.rules import lexicon
from consumers.extractor.rules.claim import HEALTH, Claim
from consumers.extractor.rules.makers import Row, fact, keyed
from consumers.extractor.rules.subject_zh import BEFORE, END, NAME, NO_NAME, NOW

JOB = lexicon.OCCUPATIONS_ZH.pattern
PET = r"(?:狗狗?|小狗|猫咪?|小猫|兔子|仓鼠|鹦鹉|金鱼|鱼|乌龟|鸟|马|柯基|金毛|哈士奇|泰迪|布偶猫?|橘猫|英短|加菲猫|宠物)"
# 对坚果不过敏 and 对花生没有过敏 name no allergen.
_ALLERGEN = r"(?P<it>[^，。！？我你他她的不没]{1,12}?)"
_CONDITION = (
    r"(?P<it>糖尿病|高血压|高血脂|哮喘|癫痫|抑郁症|焦虑症|躁郁症|胃病|心脏病|乙肝|关节炎|偏头痛|痛风"
    r"|贫血|失眠症|多动症|鼻炎|颈椎病)"
)
_JOB_CUE = tuple("师员生士人家理计者者手演译授管监顾问编辑机厨警销售客服运营老板教练博士")
_IS_NAME = re.compile(r"[\u4e00-\u9fff·]{2,4}|[A-Z][A-Za-z ]{1,20}")


def _relation(match: re.Match[str]) -> Claim | None:
    if not _IS_NAME.fullmatch(match["it"]) or re.search(NO_NAME, match["it"]):
        return None
    return keyed("relation", "zh.relation", 0.55)(match)


def _employer(match: re.Match[str]) -> Claim | None:
    value = match["it"]
    if re.search(
        r"^(?:考虑|寻找|换|家|这|那|一|努力|认真|忙|加班|不|好好|找|公司|单位|办公室|外面|现在|周末|当前"
        r"|那边|目前)|[了的我你他她找]$|找新|里$",
        value,
    ):
        return None
    return fact("employer", "zh.employer", 0.6)(match)


RULES: tuple[Row[tuple[str, ...]], ...] = (
    Row(
        _JOB_CUE,
        re.compile(
            rf"{BEFORE}我{NOW}(?:不是[^，。]{{1,12}}[，,]?(?:而)?是|是|当|做|担任|从事)(?:一?[名位个]"
            rf"|着)?(?P<it>{JOB})(?!们|的|家|工作室){END}"
        ),
        fact("job", "zh.job", 0.7),
    ),
    Row(
        ("职业", "工作是", "本职"),
        re.compile(rf"我的?(?:职业|工作|本职)是(?:一?[名位个])?(?P<it>{JOB}){END}"),
        fact("job", "zh.job", 0.7),
    ),
    Row(
        ("工作", "上班", "职", "实习"),
        re.compile(
            rf"{BEFORE}我{NOW}(?:在|就职于|任职于|供职于)(?P<it>[^，。！？\s]{{2,16}}?)(?:工作|上班|任职"
            rf"|就职|实习|当差){END}"
        ),
        _employer,
    ),
    Row(
        ("读", "上学", "念书", "学习"),
        re.compile(
            rf"{BEFORE}我{NOW}在(?P<it>[^，。！？\s的我你他]{{2,14}}?(?:大学|学院|中学|高中|小学"
            rf"|学校))(?:读书|上学|念书|就读|学习|读研|读博|读大[一二三四])"
        ),
        fact("school", "zh.school", 0.55),
    ),
    Row(
        ("毕业", "就读"),
        re.compile(rf"{BEFORE}我{NOW}(?:毕业于|就读于)(?P<it>[^，。！？\s我你他]{{2,16}}){END}"),
        fact("school", "zh.school", 0.55),
    ),
    Row(
        ("专业", "主修"),
        re.compile(rf"我(?:的?专业是|学的是|主修|读的是)(?P<it>[^，。！？\s我你他这那什]{{2,12}}?)(?:专业)?{END}"),
        fact("major", "zh.major", 0.55),
    ),
    Row(
        ("养",),
        re.compile(
            rf"我{NOW}养(?:了|着|过)?(?P<it>(?:[一两二三四几\d][只条头个匹]"
            rf"|一对)?(?:[\u4e00-\u9fff]{{1,3}}?的?)?(?P<what>{PET})(?:[，,]?(?:它|名字|名)?(?:叫|名叫"
            rf"|取名)[\u4e00-\u9fffA-Za-z]{{1,6}})?){END}"
        ),
        keyed("has", "zh.pet", 0.6),
    ),
    Row(
        ("有",),
        re.compile(
            rf"我(?:家里?)?{NOW}有(?:了)?(?P<it>[一两二三四几\d]?[只条个匹](?:[\u4e00-\u9fff]{{1,3}}?的?)?"
            rf"(?P<what>狗狗?|小狗|猫咪?|小猫|兔子|仓鼠|鹦鹉|乌龟|宠物|儿子|女儿|孩子|小孩|哥哥|姐姐|弟弟"
            rf"|妹妹|双胞胎)(?:叫[\u4e00-\u9fffA-Za-z]{{1,6}})?)(?:(?=[和与、])|{END})"
        ),
        keyed("has", "zh.has", 0.6),
    ),
    Row(
        ("婚", "单身", "离异"),
        re.compile(rf"{BEFORE}我{NOW}(?P<it>已婚|未婚|单身|离异|结婚了|离婚了|订婚了){END}"),
        fact("marital_status", "zh.marital", 0.6),
    ),
    Row(
        ("素", "清真"),
        re.compile(
            rf"{BEFORE}我{NOW}(?:是|吃)(?:一?个)?(?P<it>素食主义者|素食者|纯素主义者|素|全素|清真)(?:了|的)?{END}"
        ),
        fact("diet", "zh.diet", 0.85),
    ),
    Row(
        ("素",),
        re.compile(rf"{BEFORE}我{NOW}(?:已经|早就|现在)*不(?:再)?(?:是|吃)(?P<it>素食主义者|素食者|素)了?{END}"),
        fact("diet", "zh.diet_ended", 0.7, ends=True),
    ),
    Row(
        ("弹", "拉", "吹", "打"),
        re.compile(
            rf"{BEFORE}我{NOW}会(?:[弹拉吹打])(?P<it>吉他|钢琴|小提琴|大提琴|二胡|古筝|琵琶|笛子|长笛|萨克斯"
            rf"|架子鼓|贝斯|尤克里里|口琴)"
        ),
        keyed("plays", "zh.plays", 0.5),
    ),
    Row(
        ("吃", "喝"),
        re.compile(
            rf"{BEFORE}我{NOW}(?:从来?|一直|平时|平常)*(?:(?:再也)?不[能再]?[吃喝]|[吃喝]不了)(?P<it>(?!素|饭|药|早|午|晚"
            rf"|了|完|饱|过|好|到|上|醉|太|多|这|那|什么|得|惯|下|的)[^，。！？、；我你他她]{{1,8}}?){END}"
        ),
        keyed("diet", "zh.diet_avoids", 0.8, negative=True),
    ),
    Row(
        ("是", "叫"),
        re.compile(
            rf"我的?(?P<what>经理|老板|上司|主管|领导|导师|老婆|妻子|老公|丈夫|儿子|女儿|女朋友|男朋友|室友"
            rf"|医生|律师|助理)(?:的名字)?(?:是|叫做?){NAME}"
        ),
        _relation,
    ),
    Row(
        ("过敏",),
        re.compile(rf"{BEFORE}我{NOW}对{_ALLERGEN}(?:严重|有点|轻微|会|非常|很|有)?过敏"),
        keyed("allergy", "zh.allergy", 0.95, HEALTH),
    ),
    Row(
        ("有", "得", "患", "确诊"),
        re.compile(rf"{BEFORE}我{NOW}(?:有|得了|患有|确诊了?|得过|患了){_CONDITION}"),
        keyed("condition", "zh.condition", 0.9, HEALTH),
    ),
    Row(
        ("年",),
        re.compile(
            rf"我{NOW}(?:在|做)(?P<what>[^，。我你他这那]{{2,12}}?)(?:工作|待|干|做)了?(?P<it>\d{{1,2}}年"
            rf"|[一二两三四五六七八九十]{{1,3}}年)了?{END}"
        ),
        keyed("tenure", "zh.tenure", 0.5),
    ),
)
