"""A whole stack with consumers, started once a session by `obelus up`; tests keep apart by tenant."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from schemas.settings import Settings
from tests.stack import short_home

_COMMAND_WITHIN = 280.0


@dataclass(frozen=True)
class Pipeline:
    """A running home: its commands, addresses and tokens.

    Other tests use the same one. Leave no subject's key missing, no consumer stopped, and nothing
    planted where `obelus audit` would find it.
    """

    home: Path

    def obelus(
        self, *words: str, expect: int | None = 0, stdin: str | bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command in this home and hold that it ends with a status; None takes any."""
        done = subprocess.run(
            [sys.executable, "-m", "deploy.cli", *words],
            env=self.environment,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=_COMMAND_WITHIN,
            check=False,
        )
        assert expect in (None, done.returncode), f"{words[0]} ended with {done.returncode}: {done.stderr.decode()}"
        return done

    def ask(self, *words: str, expect: int | None = 0, stdin: str | bytes = b"") -> Any:
        """Run a command with ``--json`` and return its document."""
        return json.loads(self.obelus(*words, "--json", expect=expect, stdin=stdin).stdout)

    def publish(self, *events: dict[str, Any], tenant: str) -> None:
        """Publish turns in either form, and wait until all has been worked off."""
        lines = "\n".join(json.dumps(event, ensure_ascii=False) for event in events)
        assert self.ask("publish", "-", "--tenant", tenant, stdin=lines) == {"published": len(events)}
        self.wait()

    def wait(self) -> None:
        """Wait until every consumer has caught up."""
        self.obelus("wait", "--timeout", "240")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands: nothing of ours but the home, and the fast embedder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OBELUS_")}
        return kept | {"OBELUS_HOME": str(self.home), "OBELUS_EMBEDDINGS": "hash"}

    @property
    def run(self) -> dict[str, Any]:
        """What the supervisor says of it: addresses, process ids, ports."""
        return dict(json.loads((self.home / "run.json").read_text()))

    @property
    def settings(self) -> Settings:
        """Settings of this stack for code in the test's own process."""
        return Settings(home=self.home, embeddings="hash", **self.run["addresses"])

    def token(self, role: str) -> str:
        """Return the development token of a role; all are of the tenant ``default``."""
        grants = json.loads((self.home / "tokens.json").read_text())
        return next(token for token, grant in grants.items() if grant["role"] == role)

    def call(self, role: str, method: str, path: str, **how: Any) -> httpx.Response:
        """Ask the API as a role."""
        headers = {"authorization": f"Bearer {self.token(role)}"} | how.pop("headers", {})
        return httpx.request(method, self.settings.api + path, headers=headers, timeout=30, trust_env=False, **how)


@contextlib.contextmanager
def running() -> Iterator[Pipeline]:
    """Start a stack with every consumer in a home of its own; stop it afterwards."""
    with short_home() as home:
        pipeline = Pipeline(home)
        try:
            pipeline.obelus("up", "--detach")
            yield pipeline
        finally:
            pipeline.obelus("down", expect=None)
