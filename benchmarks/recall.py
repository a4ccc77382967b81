"""How long a recall takes over HTTP, as a ratio to what it cannot do without: one vector query and one SQL query.

    python -m benchmarks.recall [--json] [--subjects 400] [--each 50] [--rounds 2000]

Memories are written straight into the stores; the API is its own process; both sides are measured in turns.
`cached` is the same question asked again at once: a hit.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httpx
import psutil
import psycopg
from qdrant_client import QdrantClient, models

from benchmarks.memories import Loader, Seed
from benchmarks.stack import home
from deploy import homekeys, parts
from deploy.embedded.part import start_all, stop_all
from schemas.settings import Settings
from schemas.words import MemoryType
from stores.embeddings import embedder
from stores.migrate import migrate
from stores.rotation import turn
from stores.vault import open_vault

WORDS = (
    "tea coffee jazz opera python rust helix vim hiking chess garlic oysters train bicycle garden piano novel cinema "
    "sailing pottery 龙井 咖啡 爬山 钢琴 书法 川菜 编程 旅行 摄影 足球"
).split()
PARTS = ("database", "redis", "qdrant")
WARM_UP = 100
LIMIT = 8


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--subjects", type=int, default=400)
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=2000)
    options = parser.parse_args(arguments)
    with home() as folder, stack(folder) as settings:
        note(f"writing {options.subjects * options.each} memories")
        load(settings, options.subjects, options.each)
        with api(settings) as process:
            figures = measure(settings, options.subjects, options.rounds)
            figures["absolute"]["api_resident_mb"] = round(psutil.Process(process.pid).memory_info().rss / 1e6, 1)
    print(json.dumps(figures, indent=2) if options.json else _table(figures))


@contextmanager
def stack(folder: Path) -> Iterator[Settings]:
    """The parts that recall reads from, without Kafka and consumers."""
    base = Settings(home=folder, embeddings="hash", kafka="127.0.0.1:1")
    running = {name: part for name, part in parts.wanted(base).items() if name in PARTS}
    homekeys.ensure(base)
    start_all(list(running.values()), note)
    try:
        settings = base.model_copy(update={name: part.address for name, part in running.items()})
        migrate(settings.database)
        yield settings
    finally:
        stop_all(list(running.values()))


def load(settings: Settings, subjects: int, each: int) -> None:
    """Write the memories; every subject has its own, with words that repeat between subjects."""
    loader, random = Loader(settings), Random(7)
    kinds = list(MemoryType)
    loader.load(
        [
            Seed(
                f"s{number}",
                f"slot.{index}",
                " ".join(random.sample(WORDS, 5)),
                type=kinds[index % len(kinds)],
                importance=random.random(),
            )
            for number in range(subjects)
            for index in range(each)
        ]
    )
    loader.connection.execute("ANALYZE")
    loader.connection.commit()
    loader.close()


@contextmanager
def api(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """`obelus run api` on a free port, until the block ends."""
    address = f"http://127.0.0.1:{_free_port()}"
    environment = os.environ | {
        "OBELUS_HOME": str(settings.home),
        "OBELUS_EMBEDDINGS": "hash",
        "OBELUS_API": address,
        "OBELUS_HEALTH_PORT": "0",
        **{f"OBELUS_{name.upper()}": getattr(settings, name) for name in ("kafka", *PARTS)},
    }
    os.environ["OBELUS_API"] = address
    process = subprocess.Popen([sys.executable, "-m", "deploy.cli", "run", "api"], env=environment)
    try:
        _until_ready(address, process)
        yield process
    finally:
        process.terminate()
        process.wait(10)


Side = Callable[[str, str], Callable[[], None]]
"""Prepares a question and gives what is timed."""


def measure(settings: Settings, subjects: int, rounds: int) -> dict[str, dict[str, float]]:
    """Time both sides in turns on the same questions."""
    random = Random(11)
    asked = [(f"s{random.randrange(subjects)}", " ".join(random.sample(WORDS, 3))) for _ in range(rounds + WARM_UP)]
    raw, recall = _raw(settings), _recall(settings)
    sides = (raw, recall, recall)
    taken = [tuple(_timed(side(*question)) for side in sides) for question in asked][WARM_UP:]
    figures = {
        f"{name}_{label}_ms": round(_percentile(sorted(series), share), 3)
        for name, series in zip(("raw", "recall", "cached"), zip(*taken, strict=True), strict=True)
        for label, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
    }
    return {
        "ratio": {
            "recall_p95_to_raw_p95": round(figures["recall_p95_ms"] / figures["raw_p95_ms"], 2),
            "recall_p95_to_raw_p50": round(figures["recall_p95_ms"] / figures["raw_p50_ms"], 2),
            "recall_p50_to_raw_p50": round(figures["recall_p50_ms"] / figures["raw_p50_ms"], 2),
            "cached_p50_to_recall_p50": round(figures["cached_p50_ms"] / figures["recall_p50_ms"], 2),
            "cached_p95_to_recall_p95": round(figures["cached_p95_ms"] / figures["recall_p95_ms"], 2),
        },
        "absolute": figures,
    }


def _raw(settings: Settings) -> Side:
    """One query by the client as anybody would write it, and one SQL query for the rows it proposes."""
    vault, hashing = open_vault(settings), embedder(settings)
    client = QdrantClient(url=settings.qdrant, check_compatibility=False, trust_env=False)
    connection = psycopg.connect(settings.database, autocommit=True)
    lookup = vault.lookup("default")
    if lookup is None:
        raise RuntimeError("nothing was loaded")
    handles: dict[bytes, bytes] = dict(connection.execute("SELECT ref, handle FROM subjects").fetchall())

    def prepare(subject: str, query: str) -> Callable[[], None]:
        handle = handles[lookup.subject(subject)]
        vector = turn(vault.data_keys([handle])[handle], hashing.embed_query(query)).tolist()
        return lambda: ask(handle, vector)

    def ask(handle: bytes, vector: list[float]) -> None:
        fields = {"tenant": lookup.tenant_ref.hex(), "handle": handle.hex(), "status": "active"}
        must = [models.FieldCondition(key=name, match=models.MatchValue(value=value)) for name, value in fields.items()]
        found = client.query_points(
            "memories",
            query=vector,
            query_filter=models.Filter(must=list(must)),
            limit=LIMIT,
            with_payload=["memory"],
        ).points
        ids = [bytes.fromhex(point.payload["memory"]) for point in found if point.payload]
        rows = connection.execute("SELECT id, version, body FROM memories WHERE id = ANY(%s)", (ids,)).fetchall()
        if len(rows) != LIMIT:
            raise RuntimeError("the raw query found too little")

    return prepare


def _recall(settings: Settings) -> Side:
    """One recall over HTTP on a kept connection."""
    tokens = json.loads(settings.tokens_file.read_text("utf-8"))
    token = next(token for token, grant in tokens.items() if grant["role"] == "agent")
    address = urlsplit(os.environ["OBELUS_API"])
    line = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def prepare(subject: str, query: str) -> Callable[[], None]:
        body = json.dumps({"subject": subject, "query": query}).encode()
        return lambda: ask(body)

    def ask(body: bytes) -> None:
        line.request("POST", "/v1/recall", body, headers)
        answer = json.loads(line.getresponse().read())
        if answer["degraded"] or len(answer["items"]) < 3:
            raise RuntimeError("recall answered less than it should")

    return prepare


def _timed(work: Callable[[], None]) -> float:
    """Milliseconds that ``work`` takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _percentile(series: Sequence[float], share: float) -> float:
    return series[min(len(series) - 1, int(len(series) * share))]


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/readyz", trust_env=False).status_code == httpx.codes.OK:
                return
        time.sleep(0.05)
    raise RuntimeError("the API did not start")


def _table(figures: dict[str, dict[str, float]]) -> str:
    return "\n".join(f"{name:28} {value}" for part in figures.values() for name, value in part.items())


def note(message: str) -> None:
    """Tell how it goes."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
