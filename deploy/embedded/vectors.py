"""Qdrant's engine behind the loopback vector server, a process of its own."""

from __future__ import annotations

import http.client
import sys

from deploy.embedded.part import Part, Progress
from deploy.embedded.ports import HOST
from deploy.embedded.process import Command


class Vectors(Part):
    """The vector store; data under `vectors/`."""

    name = "qdrant"
    _port = 0
    more: tuple[str, ...] = ()
    """More arguments than the fixed ones, for tests."""

    @property
    def address(self) -> str:
        """What `qdrant-client` takes as `url`."""
        return f"http://{HOST}:{self._port}"

    def prepare(self, progress: Progress) -> None:
        """Take a port."""
        self._port = self.place.ports.take("qdrant")

    def command(self) -> Command:
        """The server module."""
        folder = str(self.place.folder("vectors"))
        arguments = ["--dir", folder, "--port", str(self._port), *self.more]
        return Command([sys.executable, "-m", "deploy.vectorserver", *arguments])

    def answers(self) -> bool:
        """Whether it serves."""
        line = http.client.HTTPConnection(HOST, self._port, timeout=1)
        try:
            line.request("GET", "/readyz")
            return line.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            line.close()
