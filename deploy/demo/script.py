"""The main job from end to end, told by the commands a person would type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

CONVERSATION = Path(__file__).parent / "conversation.jsonl"
TENANT = "default"
FORGOTTEN = "maya"
OTHERS = ("wei", "noor")


class DemoFailed(Exception):
    """A command of the demo did not end as it should; its output is above."""


class Demo:
    """Runs `obelus` commands one by one in a home of its own and shows what they print."""

    def __init__(self, home: Path, console: Console) -> None:
        """Keep where the stack lives and where to print."""
        self._home = home
        self._console = console
        self._env = os.environ | {"OBELUS_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        self._started = time.monotonic()

    def say(self, title: str, why: str) -> None:
        """Announce the next step and what to look at."""
        elapsed = time.monotonic() - self._started
        self._console.rule(f"[bold]{title}[/bold]  [dim]{elapsed:.0f} s[/dim]", align="left")
        self._console.print(why, style="cyan", highlight=False)

    def run(self, *words: str, expect: int = 0) -> None:
        """Run one command with its output on the terminal.

        Raises:
            DemoFailed: it ended with another status than expected.
        """
        self._console.print(f"$ obelus {_shown(words)}", style="bold green", highlight=False)
        status = subprocess.run(_command(words), env=self._env).returncode  # noqa: S603 - our own command
        if status != expect:
            raise DemoFailed(f"`obelus {_shown(words)}` ended with status {status}, expected {expect}")

    def ask(self, *words: str) -> dict[str, object]:
        """Run one command with ``--json``, unseen, and return what it says."""
        done = subprocess.run(_command((*words, "--json")), env=self._env, check=True, stdout=subprocess.PIPE)  # noqa: S603
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    @contextmanager
    def stack(self) -> Iterator[None]:
        """The embedded stack for as long as the block runs; nothing is left behind it."""
        try:
            self.run("up", "--detach")
            yield
        finally:
            self.say("Down", "Everything that was started is stopped again.")
            self.run("down")


def _command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "deploy.cli", *words]


def _shown(words: tuple[str, ...]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def _of(subject: str) -> tuple[str, ...]:
    return ("--tenant", TENANT, "--subject", subject)


def _remember(demo: Demo) -> None:
    demo.say("Turns in", "Eighty-two events of three people, in Chinese and English, go to the topic memory.turns.")
    demo.run("publish", str(CONVERSATION))
    demo.run("wait", "--timeout", "60")
    demo.run("status")
    demo.say("Decisions", "Every candidate has a decision with the rule and reasons; most turns never become one.")
    demo.run("decisions", "--tenant", TENANT)
    demo.say(
        "Memories",
        "The pause hid two sentences of noor; the pasted mail and the key are nowhere; the dog is there once.",
    )
    for subject in (FORGOTTEN, *OTHERS):
        demo.run("memories", *_of(subject))
    demo.say("History", "The old editor and the love of oysters are superseded, not lost and not recalled.")
    demo.run("memories", *_of(FORGOTTEN), "--all")
    demo.say("Recall", "An agent asks; it gets a few right memories with their source.")
    demo.run("recall", *_of(FORGOTTEN), "Which editor does she use?")
    demo.run("recall", *_of("wei"), "他喜欢喝什么茶？")


def _forget(demo: Demo, bundle: Path) -> None:
    demo.say("Forget", f"{FORGOTTEN} asks to be forgotten: every copy is found, erased and observed to be gone.")
    demo.run("forget", *_of(FORGOTTEN), "--dry-run")
    demo.run("forget", *_of(FORGOTTEN), "--request-id", "demo-forget", "--wait")
    demo.say("Receipt", "A signed statement of what was proven for each store, checked without access to Obelus.")
    erasures = demo.ask("erasures")["erasures"]
    if not isinstance(erasures, list) or not erasures:
        raise DemoFailed("no erasure is listed after `obelus forget`")
    erasure = str(erasures[-1]["erasure_id"])
    demo.run("receipt", "show", erasure, "--bundle", str(bundle))
    demo.run(
        *("receipt", "verify", str(bundle / "receipt.json")),
        *("--keys", str(bundle / "keys.json"), "--evidence", str(bundle / "evidence.json")),
    )
    demo.say("Afterwards", f"Recall finds nothing of {FORGOTTEN}; the others are untouched.")
    demo.run("recall", *_of(FORGOTTEN), "Which editor does she use?")
    demo.run("recall", *_of("wei"), "他喜欢喝什么茶？")
    left = demo.ask("recall", *_of(FORGOTTEN), "Which editor does she use?")["items"]
    if left:
        raise DemoFailed("recall still answers about a forgotten subject")


def play(console: Console) -> int:
    """Run the whole demo.

    Returns:
        0 where every step ended as it should, 1 otherwise.
    """
    with tempfile.TemporaryDirectory(prefix="obelus-demo-") as folder:
        demo = Demo(Path(folder) / "home", console)
        demo.say("Up", "Kafka, PostgreSQL, Valkey, Qdrant's engine and one process for each consumer, on loopback.")
        try:
            with demo.stack():
                _remember(demo)
                _forget(demo, Path(folder) / "bundle")
        except DemoFailed as failed:
            console.print(f"demo failed: {failed}", style="bold red", highlight=False)
            return 1
    console.print("Done: nothing is left running.", style="bold", highlight=False)
    return 0
