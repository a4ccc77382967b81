"""What a person takes back or replaces in passing words, from the turn to the memory (C4, C5, W12)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.running import Pipeline

pytestmark = pytest.mark.integration

TENANT = "changed-minds"
SAID: dict[str, tuple[list[str], set[tuple[str, tuple[str, ...]]]]] = {
    "colour": (["我最喜欢的颜色是绿色", "我现在最喜欢蓝色了"], {("蓝色", ())}),
    "editors": (
        ["I use VS Code for Python and Vim for Rust.", "I now use Helix for Rust."],
        {("VS Code", ("for.python",)), ("Helix", ("for.rust",))},
    ),
    "coffee": (["我喜欢喝咖啡", "我不再喝咖啡了"], {("咖啡", ())}),
    "jazz": (["I love jazz.", "I used to love listening to jazz."], set()),
    "broccoli": (["I love broccoli.", "I used to hate broccoli."], {("broccoli", ())}),
    "job": (["I work at Initech.", "I'm an accountant.", "I quit my job."], set()),
    "move": (["I work at Initech.", "I work at Globex. I no longer work at Initech."], {("Globex", ())}),
    "cat": (["I have a cat named Milo.", "I no longer have a cat."], set()),
}


@pytest.fixture(scope="module")
def spoken(running: Pipeline) -> Pipeline:
    turns: list[dict[str, Any]] = [
        {"user": who, "conversation": f"{who}-{n}", "role": "user", "text": text, "at": f"2026-11-0{n + 1}T09:00:00Z"}
        for who, (texts, _) in SAID.items()
        for n, text in enumerate(texts)
    ]
    running.publish(*turns, tenant=TENANT)
    return running


@pytest.mark.parametrize("who", SAID)
def test_only_what_still_holds_is_active(spoken: Pipeline, who: str) -> None:
    found = spoken.ask("memories", "--tenant", TENANT, "--subject", who)["memories"]
    assert {(one["value"], tuple(one["conditions"])) for one in found} == SAID[who][1]
    # That somebody avoids coffee is all that is left of it.
    assert who != "coffee" or [one["polarity"] for one in found] == ["negative"]
