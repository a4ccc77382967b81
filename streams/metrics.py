"""Every metric of the contract, and the small server that shows them with the process's health."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

# A stage takes from under a millisecond (decide, idle) to seconds (a model answers).
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)

EVENTS = Counter("obelus_events_total", "Positions by outcome", ["consumer", "outcome"])
STAGE_SECONDS = Histogram(
    "obelus_stage_seconds", "Seconds a batch spends in a stage", ["consumer", "stage"],
    buckets=_SECONDS,
)  # fmt: skip
BATCH_RECORDS = Histogram(
    "obelus_batch_records", "Records in a batch", ["consumer"],
    buckets=(1, 3, 10, 30, 100, 300, 1000, 3000),
)  # fmt: skip
LAG = Gauge("obelus_lag", "Records between position and end of log", ["consumer", "topic"])
DECISIONS = Counter("obelus_decisions_total", "Decisions by outcome and rule", ["outcome", "rule"])
DEAD_LETTERS = Counter("obelus_dead_letters_total", "Positions given up, by reason", ["consumer", "reason"])
RETRIES = Counter("obelus_retries_total", "Times that work was taken up again, by cause", ["consumer", "cause"])
LOST = Counter("obelus_lost_records_total", "Offsets that a log of ours no longer had", ["consumer", "topic"])
MEMORIES = Gauge("obelus_memories", "Memories by status", ["status"])
CACHE = Counter("obelus_cache_total", "Recall cache by result", ["result"])
DRIFT = Gauge("obelus_drift", "Items that differ between stores", ["kind"])
ERASURES = Gauge("obelus_erasures", "Erasures by state", ["state"])
ERASURE_OLDEST = Gauge("obelus_erasure_oldest_seconds", "Age of the oldest open erasure")
ERASED_SOURCE = Counter("obelus_erased_source_total", "Positions whose subject was erased before", ["consumer"])

Readiness = Callable[[], tuple[bool, str]]
"""Says whether the process makes progress, and in a few words why not."""


class HealthServer(ThreadingHTTPServer):
    """``/healthz`` (it runs), ``/readyz`` (it makes progress), ``/metrics``."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], readiness: Readiness) -> None:
        """Bind; port 0 takes a free one, see ``server_port``."""
        self.readiness = readiness
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: HealthServer

    def do_GET(self) -> None:
        """Answer one of the three paths."""
        if self.path == "/metrics":
            self._answer(200, generate_latest(), CONTENT_TYPE_LATEST)
        elif self.path == "/healthz":
            self._answer(200, b'{"alive":true}')
        elif self.path == "/readyz":
            ready, why = self.server.readiness()
            body = json.dumps({"ready": ready, "why": why}).encode()
            self._answer(200 if ready else 503, body)
        else:
            self._answer(404, b'{"error":"no such path"}')

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: probes come every few seconds."""


def serve(port: int, readiness: Readiness, host: str = "127.0.0.1") -> HealthServer:
    """Serve health and metrics from a thread; ``server_port`` tells the port taken.

    Args:
        port: 0 for any that is free.
        readiness: asked on each ``/readyz``.
        host: address to listen on.
    """
    server = HealthServer((host, port), readiness)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server
