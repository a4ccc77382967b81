"""What a text gives away beyond the spans that screening removes: its categories and its sensitivity."""

from __future__ import annotations

import re

from policy.hints import Hints
from policy.screening.found import PLACEHOLDER
from policy.screening.spans import screen
from schemas.words import Sensitivity

SECRET = "secret"  # noqa: S105 - a category
IDENTITY = "identity_document"
PAYMENT = "payment"
PHONE = "phone"
MAIL = "mail"
ADDRESS = "address"
HEALTH = "health"
MONEY = "money"

_OF_KIND = {"payment_card": PAYMENT, "bank_account": PAYMENT, "national_id": IDENTITY}
_MAIL = re.compile(r"(?<![\w.+\-])[\w.+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}")
_PHONE_LIKE = re.compile(r"\+?\d(?:[ \-().]{0,2}\d){6,16}")
_REGIONS = ("CN", "US", "GB")
_ADDRESS = re.compile(
    r"\b\d{1,5}[A-Za-z]? (?:[A-Z][\w'.]{0,20} ){1,4}(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane"
    r"|drive|court|square)\b"
    r"|\b(?:my|home|postal|mailing|street) address\b|\bzip ?code\b|\bpostcode\b"
    r"|[\u4e00-\u9fff]{1,12}(?:路|街|巷|弄|胡同|大道)\d{1,5}号|\d{1,4}(?:号楼|栋|幢|单元|室)|家庭?住址"
    r"|(?:家|收货|邮寄|详细)地址",
    re.IGNORECASE,
)
_HEALTH = re.compile(
    r"\ballerg|\bdiabet|\basthma|\bcancer\b|\btumou?r|\bhiv\b|\baids\b|\bdepress(?:ion|ed|ive)\b|\bbipolar|\banxiety\b"
    r"|\bpanic attack|\bepilep|\bmigraine|\bhypertens|\bblood pressure|\bpregnan|\bmedication"
    r"|\bantidepress|\binsulin|\binsomnia"
    r"|\bdiagnos|\bsurger(?:y|ies)\b|\bchemo|\btherap(?:y|ist)\b|\bpsychiatr|\beating disorder|\badhd\b"
    r"|\bautis|\bdisabilit|\bdisabled\b"
    r"|\bintoleran|\bceliac|\bcoeliac|\binfect(?:ed|ion)|\bdisease\b|\billness\b|\bsyndrome\b"
    r"|\barthritis|\bstroke\b|\bheart (?:attack|condition|failure)"
    r"|过敏|糖尿病|高血[压脂糖]|哮喘|癌|肿瘤|抑郁|躁郁|焦虑症|恐慌症|癫痫|偏头痛|怀孕|孕期|流产|用药"
    r"|服药|吃药|处方|胰岛素|失眠|确诊|诊断|手术|化疗"
    r"|心理咨询|精神科|残疾|不耐受|感染|疾病|心脏病|肝炎|艾滋|病史|症状|慢性病|贫血|[胃肾肝肺]病|住院|自闭|多动症|痛风",
    re.IGNORECASE,
)
_PAYMENT = re.compile(
    r"\b(?:credit|debit|bank) ?card|\bbank account|\biban\b|\bcvv\b|信用卡|银行卡|银行账|支付宝账|卡号"
    r"|付款方式|支付方式",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"\bsalary\b|\b(?:my|monthly|annual|yearly) (?:income|wage|pay|debt|savings|rent|mortgage)\b"
    r"|\bi (?:earn|owe|make) [$\u20ac\u00a3\u00a5]?\d"
    r"|\bnet worth\b|\baccount balance\b|[$\u20ac\u00a3\u00a5] ?\d[\d,.]{0,20}|工资|月薪|年薪|薪水|收入|存款"
    r"|欠款|欠债|房贷|余额|负债",
    re.IGNORECASE,
)
_IDENTITY = re.compile(
    r"\bpassport\b|\bsocial security\b|\bssn\b|\bdriver'?s? licen[cs]e|\bid (?:card|number)\b"
    r"|\bnational id\b|身份证|护照|驾驶?证号|社保号",
    re.IGNORECASE,
)
_PERSONAL = (PHONE, MAIL, ADDRESS)
_SENSITIVE = (HEALTH, PAYMENT, MONEY, IDENTITY)


_HINTS = Hints(
    {
        ADDRESS: (
            *("street", " st", "ave", "road", " rd", "boulevard", "blvd", "lane", "drive", "court", "square"),
            *("address", "zip", "postcode", "号", "栋", "幢", "单元", "室", "址"),
        ),
        HEALTH: (
            *("allerg", "diabet", "asthma", "cancer", "tumo", "hiv", "aids", "depress", "bipolar", "anxiety", "panic"),
            *("epilep", "migraine", "hypertens", "blood pressure", "pregnan", "medication", "insulin", "insomnia"),
            *("diagnos", "surger", "chemo", "therap", "psychiatr", "disorder", "adhd", "autis", "disab", "intoleran"),
            *("celiac", "coeliac", "infect", "disease", "illness", "syndrome", "arthritis", "stroke", "heart "),
            *("antidepress", "过敏", "糖尿", "高血", "哮喘", "癌", "肿瘤", "郁", "焦虑症", "恐慌症", "癫痫", "头痛"),
            *("孕", "流产", "药", "处方", "胰岛", "失眠", "诊", "手术", "化疗", "心理咨询", "精神科", "残疾", "耐受"),
            *("感染", "病", "肝炎", "艾滋", "症状", "贫血", "住院", "自闭", "多动症", "痛风"),
        ),
        PAYMENT: ("card", "bank", "iban", "cvv", "信用卡", "银行", "支付", "卡号", "付款"),
        MONEY: (
            *("salary", "income", "wage", "pay", "debt", "savings", "rent", "mortgage", "i earn", "i owe", "i make"),
            *("net worth", "balance", "$", "\u20ac", "\u00a3", "\u00a5", "工资", "薪", "收入", "存款", "欠"),
            *("房贷", "余额", "负债"),
        ),
        IDENTITY: (
            *("passport", "social security", "ssn", "licen", "id card", "id number", "national id"),
            *("身份证", "护照", "证号", "社保"),
        ),
    }
)
"""Pieces of lower-cased text without which the pattern of a category cannot match."""
_PATTERNS = {ADDRESS: _ADDRESS, HEALTH: _HEALTH, PAYMENT: _PAYMENT, MONEY: _MONEY, IDENTITY: _IDENTITY}


def findings(text: str) -> frozenset[str]:
    """Return the categories of protected content in ``text``, fixed words only.

    Placeholders that screening left count as what they stand for, so that "my password is [secret:password]"
    is still known to be about a secret.
    """
    screened = screen(text)
    kinds = {hit.kind for hit in screened.hits}
    if "[" in text:
        kinds.update(PLACEHOLDER.findall(text))
    found = {_OF_KIND.get(kind, SECRET) for kind in kinds}
    if "@" in text and _MAIL.search(text):
        found.add(MAIL)
    if _has_phone(screened.text):
        found.add(PHONE)
    found.update(name for name in _HINTS.of(text.lower()) if _PATTERNS[name].search(text))
    return frozenset(found)


def sensitivity(text: str) -> Sensitivity:
    """Return the clearance that ``text`` needs."""
    return sensitivity_of(findings(text))


def sensitivity_of(found: frozenset[str]) -> Sensitivity:
    """Return the clearance that content of these categories needs."""
    if SECRET in found:
        return Sensitivity.SECRET
    if not found.isdisjoint(_SENSITIVE):
        return Sensitivity.SENSITIVE
    return Sensitivity.NONE if found.isdisjoint(_PERSONAL) else Sensitivity.PERSONAL


def _has_phone(text: str) -> bool:
    """Ask ``phonenumbers`` only where a run of digits could be one: its import and parse are slow."""
    candidates = _PHONE_LIKE.findall(text)
    return any(_is_phone(number) for number in candidates[:64])


def _is_phone(number: str) -> bool:
    import phonenumbers

    for region in (None,) if number.startswith("+") else _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(number, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False
