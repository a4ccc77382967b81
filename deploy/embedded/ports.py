"""Free loopback ports, the same again after a restart where they are still free."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from pathlib import Path

from deploy.embedded.secret import write_private

HOST = "127.0.0.1"
# Below the range from which systems draw the ports of outgoing connections, so that none of those
# takes a remembered port while its part is down.
_FIRST, _LAST = 15_000, 32_000


class Ports:
    """The ports of one home, remembered in a file there."""

    def __init__(self, file: Path) -> None:
        """Read what was used before."""
        self._file = file
        try:
            self._known: dict[str, int] = json.loads(file.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            self._known = {}
        self._taken: dict[int, str] = {}
        self._one_at_a_time = threading.Lock()

    def take(self, name: str) -> int:
        """Give the port that `name` had, or another if somebody has it now."""
        with self._one_at_a_time:  # parts are prepared side by side
            port = self._known.get(name, 0)
            while not port or self._taken.get(port, name) != name or not _claim(port) or not is_free(port):
                port = _FIRST + secrets.randbelow(_LAST - _FIRST)
            self._taken[port] = name
            self._known[name] = port
            write_private(self._file, json.dumps(self._known))
        return port


_CLAIMS: dict[int, socket.socket] = {}


def _claim(port: int) -> bool:
    """Hold a port for this process until it ends, its server up or not.

    Another stack that starts beside this one finds the port free as long as nothing listens. The claim is a UDP
    socket of the same number, which no server here uses and the system closes with the process.
    """
    if port not in _CLAIMS:
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            claim.bind((HOST, port))
        except OSError:
            claim.close()
            return False
        _CLAIMS[port] = claim
    return True


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # As servers do: a connection in TIME_WAIT does not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def is_open(port: int) -> bool:
    """Whether something listens there."""
    try:
        socket.create_connection((HOST, port), timeout=0.5).close()
    except OSError:
        return False
    return True
