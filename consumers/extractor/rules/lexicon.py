"""Names of slots: which things share a single-valued slot, in both languages.

"My favourite editor is Vim" and "I now use Helix" speak of the same slot only if somebody knows that both
are editors; this is that knowledge, kept small. A thing that is not here keeps a slot of its own.
"""

from __future__ import annotations

import re

from policy.text import fold

_THINGS = {
    "editor": "vim|neovim|nvim|vi|helix|emacs|vs code|vscode|visual studio code|visual studio|sublime text"
    "|sublime|intellij|intellij idea|idea|pycharm"
    "|webstorm|goland|zed|nano|notepad++|cursor|atom|eclipse|xcode|android studio",
    "database": "postgresql|postgres|mysql|mariadb|sqlite|mongodb|mongo|oracle|sql server|cassandra|dynamodb"
    "|clickhouse|cockroachdb|tidb|duckdb"
    "|oceanbase|neo4j|couchdb|达梦",
    "language": "python|go|golang|rust|java|javascript|typescript|c++|c#|c语言|kotlin|swift|ruby|php|scala|haskell"
    "|elixir|clojure|perl|lua|julia|dart|zig",
    "operating_system": "linux|macos|mac os|windows|ubuntu|debian|fedora|arch linux|arch|freebsd|鸿蒙|统信",
    "phone": "iphone|android|pixel|galaxy|华为手机|小米手机|苹果手机|安卓手机",
    "browser": "chrome|firefox|safari|edge|brave|opera|vivaldi|arc",
    "shell": "zsh|bash|fish|powershell|nushell",
    "message_broker": "kafka|rabbitmq|pulsar|nats|rocketmq|activemq",
    "cloud": "aws|azure|gcp|google cloud|阿里云|腾讯云|华为云",
    "web_framework": "django|flask|fastapi|rails|spring boot|spring|express|laravel|nestjs|next.js|nextjs",
    "frontend_framework": "react|vue|vue.js|angular|svelte|solid",
    "cache": "redis|memcached|valkey",
    "version_control": "git|svn|mercurial|perforce",
    "container": "docker|podman|kubernetes|k8s",
    "vector_store": "qdrant|milvus|weaviate|pinecone|pgvector|chroma",
}
SLOT_OF = {thing: slot for slot, things in _THINGS.items() for thing in things.split("|")}
# A project has these, a person does not: "Omar uses Vim" is about Omar, "Billing uses Postgres" is not about a person.
SYSTEM_SLOTS = frozenset(
    (
        "database",
        "message_broker",
        "cloud",
        "web_framework",
        "frontend_framework",
        "cache",
        "container",
        "vector_store",
        "language",
    )
)

_NOUNS = {
    "editor": "editor|text editor|ide|code editor|编辑器",
    "database": "database|db|数据库",
    "language": "programming language|coding language|编程语言|开发语言",
    "operating_system": "operating system|os|操作系统|系统",
    "phone": "phone|mobile|手机",
    "browser": "browser|浏览器",
    "shell": "shell",
    "message_broker": "message broker|message queue|消息队列",
    "cloud": "cloud|cloud provider|云",
    "web_framework": "framework|web framework|框架",
    "cache": "cache|缓存",
    "colour": "colour|color|颜色|色彩",
    "food": "food|foods|dish|meal|食物|美食|菜|菜肴|吃的",
    "cuisine": "cuisine|菜系",
    "drink": "drink|beverage|饮料|饮品",
    "fruit": "fruit|水果",
    "movie": "movie|film|movies|films|电影|影片",
    "show": "tv show|show|series|tv series|电视剧|综艺",
    "book": "book|novel|books|书|小说|书籍|图书",
    "author": "author|writer|作家|作者",
    "song": "song|songs|歌|歌曲",
    "music": "music|music genre|genre|kind of music|type of music|音乐|音乐类型",
    "singer": "singer|artist|musician|band|歌手|乐队|音乐家|艺人",
    "actor": "actor|actress|演员|明星|偶像",
    "painter": "painter|画家",
    "sport": "sport|sports|运动|体育运动|球类",
    "team": "team|football team|球队",
    "game": "game|video game|游戏",
    "hobby": "hobby|pastime|activity|爱好|活动",
    "season": "season|季节",
    "animal": "animal|pet|动物|宠物",
    "city": "city|place|城市|地方",
    "country": "country|国家",
    "subject": "subject|course|学科|科目|课程",
    "instrument": "instrument|musical instrument|乐器",
    "flower": "flower|flowers|花",
}
NOUN_SLOT = {noun: slot for slot, nouns in _NOUNS.items() for noun in nouns.split("|")}
_TECHNICAL = frozenset(_THINGS)

# What says by itself what it is a favourite of: 我最喜欢蓝色 speaks of colours, "I like autumn best" of seasons.
_MEMBERS = {
    "colour": "red|blue|navy blue|light blue|dark blue|sky blue|green|dark green|light green|yellow|black|white|purple"
    "|violet|pink|brown|grey|gray|teal|turquoise|cyan|indigo|beige|burgundy|lavender|maroon",
    "season": "spring|summer|autumn|fall|winter|春天|夏天|秋天|冬天|春季|夏季|秋季|冬季",
    "sport": "basketball|football|soccer|tennis|badminton|table tennis|volleyball|baseball|hockey|rugby|cricket"
    "|篮球|足球|网球|羽毛球|乒乓球|排球|棒球|橄榄球",
}
_CLASS_OF = {member: name for name, members in _MEMBERS.items() for member in members.split("|")}
_COLOUR_ZH = re.compile(r"[深浅淡暗亮天海墨湖草米]?[红蓝绿黄黑白紫粉橙棕灰青金银褐][红]?色")

_VERSION = re.compile(r"\s+v?\d+(?:\.\d+)*$|(?<=[a-z])\d+(?:\.\d+)*$")

OCCUPATIONS_EN = re.compile(
    r"(?:software |data |product |project |graphic |web |civil |mechanical |electrical |research "
    r"|senior |junior |freelance |high school |middle school"
    r"|primary school |university |college |graduate |phd |medical |law |english |maths? |music "
    r"|fitness |yoga |primary |elementary |front-?end |back-?end"
    r"|full-?stack |sales |marketing |hr |financial |registered |retired |part-time |full-time "
    r"|first-year |second-year |third-year |professional ){0,3}"
    r"(?:engineer|developer|programmer|teacher|doctor|nurse|lawyer|designer|student|freshman|sophomore"
    r"|manager|accountant|journalist|writer|painter"
    r"|driver|chef|cook|police officer|salesperson|analyst|consultant|editor|photographer|actor|actress"
    r"|singer|director|translator|scientist|professor"
    r"|researcher|entrepreneur|freelancer|civil servant|architect|dentist|pharmacist|librarian|musician"
    r"|artist|pilot|farmer|electrician|plumber|carpenter"
    r"|barista|waiter|waitress|therapist|psychologist|economist|statistician|administrator|secretary"
    r"|intern|trainer|coach|veterinarian|vet|surgeon"
    r"|mechanic|tester|founder|ceo|cto|homemaker|housewife|retiree|undergraduate|postgraduate|graduate"
    r"|trainee|officer|specialist|technician)",
    re.IGNORECASE,
)
JOB_WORDS = frozenset(re.findall(r"[a-z]+", OCCUPATIONS_EN.pattern.rsplit("{0,3}", 1)[1]))
OCCUPATIONS_ZH = re.compile(
    r"[\w·]{0,10}?(?:工程师|程序员|老师|教师|医生|护士|律师|设计师|学生|大学生|研究生|博士生|高中生"
    r"|初中生|本科生|经理|会计|记者|作家|画家|司机|厨师|警察|销售员?"
    r"|分析师|顾问|编辑|摄影师|演员|歌手|导演|翻译|科学家|教授|主管|总监|创业者|自由职业者|公务员"
    r"|建筑师|牙医|药剂师|音乐家|艺术家|飞行员|农民|电工|木匠|教练|博士"
    r"|研究员|实习生|家庭主妇|全职妈妈|退休(?:工人|教师|人员)?|文员|秘书|客服|运营|产品经理|架构师"
    r"|测试员?|站长|店长|老板|军人|士兵|消防员)"
)


NATION_WORDS = frozenset(
    "chinese english french german spanish italian japanese korean american british canadian australian"
    " indian russian dutch swedish polish brazilian mexican turkish greek portuguese vietnamese"
    " thai irish scottish danish norwegian finnish swiss austrian belgian egyptian".split()
)


def slot_of_thing(thing: str) -> str | None:
    """Return the single-valued slot that a known thing fills; a version behind its name does not matter."""
    folded = fold(thing).strip(" .\"'")
    return SLOT_OF.get(folded) or SLOT_OF.get(_VERSION.sub("", folded))


def slot_of_noun(noun: str) -> str | None:
    """Return the slot that a noun names: "editor" or 编辑器."""
    return NOUN_SLOT.get(fold(noun).strip())


def class_key(thing: str) -> str | None:
    """Return the key of "my favourite THING" for a thing that tells what it is, None for any other."""
    name = "colour" if _COLOUR_ZH.fullmatch(thing) else _CLASS_OF.get(fold(thing).strip(" .\"'"))
    return f"favourite.{name}" if name else None


def favourite_key(noun: str) -> str | None:
    """Return the key of "my favourite NOUN"; technical ones share the slot of what is used."""
    slot = slot_of_noun(noun)
    if slot is None:
        return None
    return slot if slot in _TECHNICAL else f"favourite.{slot}"
