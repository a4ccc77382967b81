"""How fast a subject is erased, as ratios to a plain delete in the same stores and to a smaller store.

    python -m benchmarks.purge [--totals 10000,200000] [--purges 30] [--json]

A purge is measured from the broker's time of the request until its receipt is stored, by the database's clock. The
plain delete does what a program without proof would, with the same clients, all of them warm: one transaction with a
statement a table, then one store after the other, each as durable as for the purge; the row of the key is its last.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.memories import Loader, Seed
from benchmarks.stack import home, running
from schemas import datamap
from schemas.events import Deletion, Selector
from schemas.settings import Settings
from schemas.topics import DELETIONS
from schemas.words import SelectorKind
from stores.cache import keep, names_key, recall_key, redis_client, window_key
from stores.database import Connection, connect
from streams.codec import message
from streams.producer import Publisher

MEMORIES = 100
"""Of each subject that is erased."""
KEPT = 10
"""Answers that the cache keeps of each subject, beside one session window."""
_HOUR_MS = 3_600_000
_POLL_SECONDS = 0.02
"""Between two looks whether a purge is done: they want the same processors as what is measured."""
_TIMES = """
SELECT extract(epoch FROM blocked_at - requested_at), extract(epoch FROM verified_at - requested_at)
FROM erasures WHERE id = %s
"""


class Bench:
    """One stack with a purger, filled step by step."""

    def __init__(self, settings: Settings) -> None:
        """Open the stores."""
        self.settings = settings
        self.loader = Loader(settings)
        self.conn: Connection = connect(settings.database, autocommit=True)
        self.publisher = Publisher(settings)
        self.cache = redis_client(settings)
        self.total = 0
        self._next = 0

    def fill(self, total: int) -> None:
        """Load memories of other subjects until there are so many."""
        while self.total < total:
            count = min(5000, total - self.total)
            self._load([f"o{(self.total + n) // MEMORIES}" for n in range(count)])
            self.total += count
        self.conn.execute("ANALYZE")

    def subjects(self, count: int) -> list[str]:
        """Make subjects to be erased."""
        names = [f"x{self._next + n}" for n in range(count)]
        self._next += count
        self._load([name for name in names for _ in range(MEMORIES)])
        return names

    def _load(self, subjects: Sequence[str]) -> None:
        self.loader.load([Seed(name, f"k{n}", f"value {n}") for n, name in enumerate(subjects)])
        pipe = self.cache.pipeline(transaction=False)
        for _, handle in self._lives(sorted(set(subjects))):
            keep(pipe, window_key(handle, 1, b"c" * 16), b"sealed" * 100, _HOUR_MS)
            for n in range(KEPT):
                keep(pipe, recall_key(handle, 1, 1, n.to_bytes(16)), b"sealed" * 100, _HOUR_MS)
        pipe.execute()

    def _lives(self, names: Sequence[str]) -> list[tuple[bytes, bytes]]:
        """Reference and handle of each subject."""
        lookup = self.loader.vault.lookup("default", create=True)
        refs = [lookup.subject(name) for name in names] if lookup else []
        return self.conn.execute("SELECT ref, handle FROM subjects WHERE ref = ANY(%s)", (refs,)).fetchall()

    def purge(self, name: str) -> tuple[float, float]:
        """Erase one subject; seconds to blocked and to verified."""
        lookup = self.loader.vault.lookup("default", create=True)
        erasure = lookup.holder(name) if lookup else b""
        self.publisher.send([_request(name)])
        self._until_verified(erasure)
        row = self.conn.execute(_TIMES, (erasure,)).fetchone()
        blocked, verified = row or (0, 0)
        return float(blocked), float(verified)

    def both(self, count: int) -> tuple[list[float], list[float], list[float]]:
        """Erase and delete plainly by turns, so that both meet the same disturbances.

        Returns:
            Seconds to blocked, seconds to verified, seconds of a plain delete.
        """
        blocked, verified, plain = [], [], []
        for name, other in zip(self.subjects(count), self.subjects(count), strict=True):
            once = self.purge(name)
            blocked.append(once[0])
            verified.append(once[1])
            plain.append(self.plain(other))
        return blocked, verified, plain

    def plain(self, name: str) -> float:
        """Delete one subject by its name, without block, observation or receipt; seconds."""
        begun = time.perf_counter()
        [(ref, handle)] = self._lives([name])
        with self.conn.transaction():
            for table in (*datamap.TABLES, "vectors"):
                self.conn.execute(f"DELETE FROM {table} WHERE handle = %s", (handle,))  # noqa: S608
            self.conn.execute("DELETE FROM subjects WHERE ref = %s", (ref,))
        self.loader.index.delete_scope(handle)
        names = self.cache.zrange(names_key(handle), 0, -1)
        self.cache.delete(*names, names_key(handle))
        self.loader.vault.destroy_keys([handle])
        return time.perf_counter() - begun

    def _until_verified(self, erasure: bytes, timeout: float = 60.0) -> None:
        until = time.monotonic() + timeout
        query = "SELECT verified_at IS NOT NULL FROM erasures WHERE id = %s"
        while not (row := self.conn.execute(query, (erasure,)).fetchone()) or not row[0]:
            if time.monotonic() > until:
                raise TimeoutError("an erasure was not verified in time")
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Close everything."""
        self.publisher.close()
        self.cache.close()
        self.conn.close()
        self.loader.close()


def _request(subject: str) -> Any:
    event = Deletion(
        request_id=subject,
        tenant="default",
        requested_by="bench",
        selector=Selector(kind=SelectorKind.SUBJECT, subject=subject),
    )
    return message(DELETIONS, f"default:{subject}", event, subject)


@contextmanager
def purger(settings: Settings) -> Iterator[None]:
    """The consumer as a process of its own."""
    environment = os.environ | {"OBELUS_HOME": str(settings.home)}
    words = (sys.executable, "-m", "deploy.cli", "run", "purger")
    process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        time.sleep(5)
        yield
    finally:
        process.terminate()
        process.wait(30)


def measure(totals: Sequence[int], purges: int) -> dict[str, Any]:
    """Run everything and give ratios and absolute figures."""
    absolute: dict[str, float] = {}
    verified: dict[int, float] = {}
    blocked: list[float] = []
    with home() as folder, running(folder, consumers=False) as settings, purger(settings):
        bench = Bench(settings)
        bench.both(3)
        for total in totals:
            bench.fill(total)
            to_blocked, to_verified, plainly = bench.both(purges)
            blocked += to_blocked
            verified[total] = statistics.median(to_verified)
            absolute[f"verified_ms_at_{total}"] = verified[total] * 1000
            plain = statistics.median(plainly)
        bench.close()
    absolute["plain_ms"] = plain * 1000
    absolute["blocked_p95_ms"] = statistics.quantiles(blocked, n=20)[-1] * 1000
    ratio = {
        "purge_to_plain": verified[totals[-1]] / plain,
        "large_to_small": verified[totals[-1]] / verified[totals[0]],
    }
    return {"ratio": ratio, "absolute": absolute}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--totals", default="10000,200000")
    parser.add_argument("--purges", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure([int(total) for total in given.totals.split(",")], given.purges)
    if given.json:
        json.dump(found, sys.stdout, indent=2)
        return
    for kind, figures in found.items():
        for name, value in figures.items():
            print(f"{kind:9} {name:24} {value:10.2f}")


if __name__ == "__main__":
    main()
