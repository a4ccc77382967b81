"""Chinese goals and plans with a time: 我打算今年学西班牙语, 我的目标是…."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from consumers.extractor.rules.claim import GOALS, Claim
from policy.text import normalise_key
from schemas.words import MemoryType, Polarity

_NOW = (
    r"(?:现在|目前|一直|最近|也|还|就|都|正|其实|已经|很|真的|本来|将来|今年|明年|这个季度|本季度"
    r"|下个?月|下个?季度|这个月|本月|下半年|年底前?|未来|以后|希望|特别|非常|非常想|明年|暑假|寒假|之后"
    r"|春天|夏天|秋天|冬天|[一二两三四五六七八九十]月份?)*"
)
_GOAL = re.compile(
    rf"(?P<who>我){_NOW}(?:(?P<named>的?(?:今年|近期|下一?个?|长期|短期|最大|人生|职业|健身"
    rf"|学习)?的?(?:目标|梦想|愿望|理想|心愿)(?:就?是|:|：)(?:能够?|成为)?)"
    rf"|(?P<firm>在?(?:打算|计划|准备|立志|决心|决定|筹划|正在?(?:准备|筹备)|在(?:准备|筹备|备考))(?:着"
    rf"|在|要|了)?)|(?P<soft>(?:希望|期待|渴望|想要|想|梦想)(?:着|能够?"
    rf"|有朝一日)*)){_NOW}(?P<rest>[^。！？；]+)"
)
_STOP = re.compile(r"[，,。！？；：:]|但是?|不过|因为|所以|来(?:放松|缓解)|顺便|并且?|然后|看看|以便|以及")
_DURABLE = re.compile(
    r"^(?:去|再|要|能|能够|可以|好好|努力|继续|开始|报名|参加|在.{1,8})*(?:学习|学(?!校)|掌握|成为"
    r"|当(?!然)|提高|提升|减肥|减重|瘦|增肌|戒|跑.{0,4}马拉松|写(?:一?[本部]|小说|书)|出版"
    r"|去[^，。]{2,10}(?:旅行|旅游|留学|玩|看看)?$|(?:到|去)[^，。]{1,12}(?:旅行|旅游|留学|工作|读书"
    r"|生活|攀登|爬山)|旅行|游览|攀登|环游|留学|考(?!虑)|读研|读博|创业|开(?:一?家|店|公司)"
    r"|买(?:房|车)|存.{0,4}钱|攒|换(?:一?[份个])?工作|跳槽|转行|参加|完成|通过|拿到|获得|结婚|搬|健身"
    r"|锻炼|读.{0,6}[本部]|练|做一名|建|尝试(?:学|写|做)|塑造|增强|养(?:一?[只条])|举办|演讲|比赛|面试"
    r"|考试|婚礼|答辩)"
)
_PASSING = re.compile(
    r"你|您|他|她|它|这(?!个季度|个月|周|学期)|那|今天|今晚|明天|明早|待会|一会|晚上|中午|下午|早上"
    r"|周末|聊|问|请教|分享|告诉|了解一下|听听|看看你|谈|说|什么|怎么|如何|哪|吗|呢|一些|推荐|建议|方法"
    r"|办法|休息|睡|吃|喝|逛|散步|去走走|出去|找(?!工作)|试试|一下|看一?[部场]?电影|购物|买(?!房|车)"
    r"|郊[外区]|公园|附近|周边|查|订|预订|住|打车|坐"
)
_VAGUE = re.compile(
    r"^(?:去|学习?|提高|提升|成为|尝试|参加|掌握|完成|锻炼|旅行|旅游|去旅行|去旅游|改变|努力"
    r"|继续)?(?:自己|新的?|技能|东西|更多|知识|旅行|旅游|好|的|一个|人|生活|更好|能力|水平|事情|工作|去"
    r"|任务|学习|锻炼|课程|做|些|更|什么)*$"
)


def find(clause: str, is_timed: Callable[[], bool]) -> Iterator[Claim]:
    """Yield what the speaker aims at; ``is_timed`` tells whether the sentence names a time of a week or longer."""
    match = _GOAL.search(clause)
    if match is None or re.search(r"[让给跟和对说问告诉他她你们]$", clause[: match.start()]):
        return
    stop = _STOP.search(match["rest"])
    goal = (match["rest"][: stop.start()] if stop else match["rest"]).strip(" 了的，")
    if not 2 <= len(goal) <= 24 or _PASSING.search(goal) or _VAGUE.match(goal):
        return
    timed = is_timed()
    durable = _DURABLE.match(goal) is not None
    if (
        match["named"] is None
        and not (timed and (durable or match["firm"]))
        and not (durable and (match["firm"] or _LASTING.match(goal)))
    ):
        return
    start = match.start("rest") + match["rest"].index(goal)
    prepares = re.search(r"准备|备考|筹备", match["firm"] or "")
    yield Claim(
        GOALS,
        normalise_key(goal),
        f"{prepares[0]}{goal}" if prepares and len(goal) < 4 else goal,
        match.start(),
        start + len(goal),
        "zh.goal",
        type=MemoryType.GOAL,
        polarity=Polarity.POSITIVE,
        confidence=0.75 if match["soft"] else 0.8,
        importance=0.7,
        conditional=False,
    )


# Wanting these is an aim even without a time.
_LASTING = re.compile(
    r"^(?:去|再|要|能|能够|开始|努力)*(?:学会?(?!校|习$)|成为|考(?!虑)|读研|留学|创业|减肥"
    r"|写(?:一?[本部]|小说)|环游|去[\u4e00-\u9fff]{2,6}(?:旅行|旅游|留学)|当一?[名个]|换一?[份个]?工作"
    r"|转行|塑造|增强|提高.{2,})"
)
