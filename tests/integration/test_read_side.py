"""From `publish` to `recall` and back to nothing, by the commands and the API, every consumer a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.roles import CONSUMERS
from schemas.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NAMES = ("kafka", "database", "redis", "qdrant")


@dataclass
class Running:
    """A pipeline on the parts of the test session."""

    environment: dict[str, str]
    api: str
    tokens: dict[str, str]
    folder: Path

    def obelus(self, *words: str, expect: int = 0, stdin: str | None = None) -> Any:
        command = [sys.executable, "-m", "deploy.cli", *words]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=90, check=False, input=stdin
        )
        assert done.returncode == expect, f"{words}: {done.stderr}"
        return json.loads(done.stdout) if "--json" in words and done.stdout else done.stderr

    def ask(self, subject: str, query: str) -> dict[str, Any]:
        """What an agent is told; on a busy machine a store may take longer than a recall waits."""
        until = time.monotonic() + 90
        while (found := self.call("agent", "POST", "/v1/recall", {"subject": subject, "query": query}))["degraded"]:
            assert found["items"] == []
            assert time.monotonic() < until
            time.sleep(0.2)
        return found

    def call(self, role: str, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        answer = httpx.request(
            method,
            self.api + path,
            json=body,
            params=query,
            headers={"authorization": f"Bearer {self.tokens[role]}"},
            timeout=30,
            trust_env=False,
        )
        assert answer.status_code < 300, answer.text
        found: dict[str, Any] = answer.json()
        return found


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def pipeline(fresh_settings: Settings, topics: None, tmp_path: Path) -> Iterator[Running]:
    api = f"http://127.0.0.1:{free_port()}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OBELUS_")}
    environment |= {f"OBELUS_{name.upper()}": getattr(fresh_settings, name) for name in NAMES}
    environment |= {
        "OBELUS_HOME": str(fresh_settings.home),
        "OBELUS_EMBEDDINGS": "hash",
        "OBELUS_API": api,
        "OBELUS_TURNS_LOG": "exclusive",
    }
    started = [
        subprocess.Popen([sys.executable, "-m", "deploy.cli", "run", name], env=environment, start_new_session=True)
        for name in CONSUMERS
    ]
    grants = json.loads(fresh_settings.tokens_file.read_text())
    tokens = {grant["role"]: token for token, grant in grants.items()}
    try:
        wait_for(api)
        yield Running(environment, api, tokens, tmp_path)
    finally:
        for process in started:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
        for process in started:
            process.wait(90)


def wait_for(api: str) -> None:
    until = time.monotonic() + 90
    while True:
        try:
            if httpx.get(f"{api}/readyz", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < until, "the API did not start"
        time.sleep(0.1)


def line(user: str, text: str, minute: int, conversation: str = "c") -> str:
    at = f"2026-11-01T10:{minute:02}:00Z"
    return json.dumps({"conversation": conversation, "user": user, "role": "user", "text": text, "at": at})


def test_publish_wait_recall_control_export_forget(pipeline: Running) -> None:
    turns = "\n".join(
        [
            line("ana", "My favourite editor is Vim.", 0),
            line("ana", "I now use Helix.", 1),
            line("ana", "I love jazz.", 2),
            line("bo", "My favourite editor is Emacs.", 0),
            line("wei", "我喜欢喝龙井茶。", 0),
        ]
    )
    file = pipeline.folder / "turns.jsonl"
    file.write_text(turns)
    assert pipeline.obelus("publish", str(file), "--json") == {"published": 5}
    assert set(pipeline.obelus("wait", "--json")["lag"].values()) == {0}
    # The same again, from standard input, adds nothing.
    assert pipeline.obelus("publish", "-", "--json", stdin=turns) == {"published": 5}
    pipeline.obelus("wait")
    assert pipeline.call("operator", "GET", "/v1/export", subject="ana")["manifest"]["turns"] == 3

    # The last word counts, and everybody reads their own (D1, C6).
    assert pipeline.ask("ana", "Which editor?")["items"][0]["value"] == "Helix"
    assert "Vim" not in str(pipeline.ask("ana", "Vim editor"))
    assert pipeline.ask("bo", "Which editor?")["items"][0]["value"] == "Emacs"
    found = pipeline.obelus("recall", "--subject", "wei", "他喜欢喝什么茶？", "--json")
    assert "龙井" in found["items"][0]["value"]
    assert found["items"][0]["source"]["conversation"] == "c"

    # The window of the conversation is a channel of its own (S2).
    body = {"subject": "ana", "query": "editor", "conversation": "c"}
    session = pipeline.call("agent", "POST", "/v1/recall", body)["session"]
    assert [turn["text"] for turn in session] == ["My favourite editor is Vim.", "I now use Helix.", "I love jazz."]

    # A pause takes effect at once, and ends (P7, U3).
    assert pipeline.call("operator", "POST", "/v1/controls", {"subject": "ana", "action": "pause"})["request_id"]
    eventually_empty(pipeline, "ana")
    assert pipeline.obelus("control", "resume", "--subject", "ana", "--json")["applied"] is True
    jazz = pipeline.ask("ana", "jazz")["items"][0]
    assert jazz["value"] == "jazz"

    # One memory is put out of use (U2): gone from the very next recall.
    done = pipeline.obelus("control", "disable", "--subject", "ana", "--memory", jazz["id"], "--json")
    assert done["applied"] is True
    assert "jazz" not in str(pipeline.ask("ana", "jazz"))
    wrong = pipeline.obelus("control", "disable", "--subject", "bo", "--memory", jazz["id"], "--json", expect=1)
    assert wrong["applied"] is False

    # Forgotten: nothing is recalled from Block on, and the others are untouched.
    said = pipeline.call("compliance", "POST", "/v1/forget", {"subject": "ana"})
    eventually_empty(pipeline, "ana")
    until = time.monotonic() + 90
    while pipeline.call("compliance", "GET", f"/v1/erasures/{said['request_id']}")["state"] not in (
        "verified",
        "final",
    ):
        assert time.monotonic() < until
        time.sleep(0.2)
    receipt = pipeline.call("compliance", "GET", f"/v1/receipts/{said['request_id']}")
    assert receipt["payloadType"] == "application/vnd.in-toto+json"
    assert set(pipeline.obelus("export", "--subject", "ana", "--json")["manifest"].values()) == {0}
    assert pipeline.ask("bo", "Which editor?")["items"][0]["value"] == "Emacs"


def eventually_empty(pipeline: Running, subject: str) -> None:
    until = time.monotonic() + 90
    while pipeline.ask(subject, "editor")["items"]:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_wait_says_what_is_left_where_nobody_works(fresh_settings: Settings, topics: None) -> None:
    from deploy.idle import Watch
    from tests.integration.sessions.test_windows import turn

    with Watch(fresh_settings) as watch:
        assert watch.until_idle(10, lambda busy: None) is True
        from streams.producer import publish

        publish(fresh_settings, [turn("ana", "c", 1)])
        told: list[str] = []
        assert watch.until_idle(1.5, told.append) is False
        assert watch.lag == {"extractor": 1, "gate": 0, "resolver": 0, "indexer": 0, "purger": 0, "streams": 1}
        assert "extractor 1" in told[0]


def test_wrong_use_is_told_and_has_status_2(
    fresh_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from deploy.cli import main

    monkeypatch.setenv("OBELUS_HOME", str(fresh_settings.home))
    for name in NAMES:
        monkeypatch.setenv(f"OBELUS_{name.upper()}", getattr(fresh_settings, name))
    bad = tmp_path / "bad.jsonl"
    bad.write_text(line("ana", "hi", 0) + "\nnot json\n")
    for words in (
        ("publish", str(bad)),
        ("publish", str(tmp_path / "none.jsonl")),
        ("control", "confirm", "--subject", "ana"),
        ("control", "obey", "--subject", "ana"),
        ("control", "pause", "--subject", "*"),
        ("recall", "--subject", "*", "x"),
        ("recall", "--subject", "ana", "x", "--at", "yesterday"),
        ("recall", "x"),
        ("export",),
    ):
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 2, words
    assert "line 2" in capsys.readouterr().err
