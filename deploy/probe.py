"""Short questions to a process on loopback."""

from __future__ import annotations

import http.client

from deploy.embedded.ports import HOST


def get(port: int, path: str, timeout: float = 0.5) -> tuple[int, str]:
    """Ask by HTTP; status 0 where nobody answers."""
    line = http.client.HTTPConnection(HOST, port, timeout=timeout)
    try:
        line.request("GET", path)
        answer = line.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        line.close()


def ready(port: int) -> bool:
    """Whether the process says that it makes progress."""
    return get(port, "/readyz")[0] == http.client.OK
