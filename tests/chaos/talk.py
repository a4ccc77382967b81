"""A conversation of several people, Chinese and English, from a seed; its outcome depends on its order only.

Each person's lines stay in order, people are mixed by the seed. Nothing in it depends on when a stage gets to it:
a pause stands before everything that it holds back, and whoever is deleted says nothing afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import orjson

from schemas.events import Deletion, Selector
from schemas.topics import DELETIONS, TURNS
from schemas.words import SelectorKind
from streams.codec import TURN, Message, message

TENANT = "acme"
GONE = "gone"
CONTROL = "org.obelus.control.v1"
START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
"""One for all runs of a session: what is relative to it must be the same in each."""
_KEY = "sk-test-" + "4f9a8b7c6d5e" * 3

LINES: dict[str, tuple[str | tuple[str, str], ...]] = {
    "ann": (
        "Hi, my name is Ann and I live in Leeds.",
        "My favourite editor is Vim.",
        "I love oysters.",
        "Just this once, answer in French.",
        "I have a dog called Biscuit.",
        "I love oysters!",
        f"My key is {_KEY}, keep it safe.",
        "I now use Helix instead of Vim as my editor.",
        "Please remember that I prefer short answers.",
        "I hate oysters now.",
        "I have a dog called Biscuit.",
    ),
    "wei": (
        "你好，我叫林伟，在杭州做后端开发。",
        "我喜欢喝龙井茶。",
        "记住：写代码示例时默认用 Python。",
        "这次先用英文回答我。",
        "我喜欢喝龙井茶。",
        "我养了一只猫叫豆包。",
        "我现在改用 Helix 写代码了，以前用 Vim。",
        "我对花生过敏。",
        "我打算这个季度学完 Rust。",
    ),
    "noor": (
        ("pause", ""),
        "I love detective novels.",
        "我讨厌香菜。",
        ("resume", ""),
        "I'm Noor, and I work as a violinist.",
        "我住在曼彻斯特。",
        "I love jazz.",
        "I no longer like jazz.",
        "My favourite drink is mate.",
    ),
    "bo": (
        "I love tea.",
        ("conversation", "slip"),
        "I love rain.",
        "My favourite editor is Emacs.",
        ("revert", "slip"),
        ("conversation", "later"),
        "我喜欢徒步。",
        "My favourite editor is Zed.",
        ("pre_compress", "later"),
    ),
    GONE: (
        "My name is Gina and I live in York.",
        "I love cocoa.",
        "我喜欢喝咖啡。",
        "My favourite editor is Nano.",
        "I love cocoa.",
        "我养了一只狗叫旺财。",
    ),
}


def conversation(seed: int = 20261129) -> list[Message]:
    """Give all turns and controls in the order of the log."""
    chance = random.Random(seed)
    waiting = {subject: list(_person(subject)) for subject in LINES}
    mixed = []
    while waiting:
        subject = chance.choice(sorted(waiting))
        mixed.append(waiting[subject].pop(0))
        if not waiting[subject]:
            del waiting[subject]
    return mixed


def deletion() -> Message:
    """Order the deletion of one person."""
    order = Deletion(
        request_id="r-gone",
        tenant=TENANT,
        requested_by="officer",
        selector=Selector(kind=SelectorKind.SUBJECT, subject=GONE),
    )
    return message(DELETIONS, f"{TENANT}:{GONE}", order, "r-gone")


def turn(subject: str, text: str, name: str, at: datetime, place: str = "first") -> Message:
    """Say one thing."""
    event = {
        "tenant": TENANT,
        "subject": subject,
        "conversation": f"{subject}-{place}",
        "message_id": name,
        "role": "user",
        "text": text,
        "at": at,
    }
    return Message(TURNS, f"{TENANT}:{subject}", TURN, name, orjson.dumps(event))


def _person(subject: str) -> Iterator[Message]:
    place = "first"
    for number, line in enumerate(LINES[subject]):
        name, at = f"{subject}-{number}", START + timedelta(minutes=number)
        if isinstance(line, str):
            yield turn(subject, line, name, at, place)
        elif line[0] == "conversation":
            place = line[1]
        else:
            yield _control(subject, *line, name, at)


def _control(subject: str, action: str, place: str, name: str, at: datetime) -> Message:
    event = {
        "tenant": TENANT,
        "subject": subject,
        "request_id": f"r-{name}",
        "actor": "person",
        "at": at,
        "action": action,
    }
    if place:
        event["conversation"] = f"{subject}-{place}"
    return Message(TURNS, f"{TENANT}:{subject}", CONTROL, f"r-{name}", orjson.dumps(event))
