"""How fast turns become governed memories, as ratios to the bare loop of the same run.

    python -m benchmarks.ingest --file turns.jsonl [--json]

Three figures: a conversation file repeated under fresh users and message ids; turns that each yield one memory;
one turn on an idle pipeline from produce to recallable. Also the resident memory of each consumer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import orjson
import psutil
import psycopg
from confluent_kafka import Producer

from benchmarks import bare
from benchmarks.stack import home, running
from deploy.demo.script import CONVERSATION
from schemas.settings import Settings
from schemas.topics import TURNS
from streams import offsets
from streams.topics import SUBSCRIPTIONS, admin_client

START = datetime(2026, 1, 1, tzinfo=UTC)
_BARE_ROUNDS = 4
"""The bare loop takes the load so many times: once is over in a second, which is too short to be a yardstick."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is published: keys and bodies, ready made so that making them is not measured."""

    name: str
    records: list[tuple[bytes, bytes]]


def repeated(lines: Sequence[dict[str, str]], turns: int) -> Load:
    """The conversation again and again under fresh users and message ids."""
    records = []
    for number in range(turns):
        line, again = lines[number % len(lines)], number // len(lines)
        user = f"{line['user']}-{again}"
        records.append(_record(user, f"{line['conversation']}-{again}", number, line["role"], line["text"], line["at"]))
    return Load("conversation", records)


def every_turn(turns: int, subjects: int) -> Load:
    """Turns that each yield exactly one new memory."""
    records = []
    for number in range(turns):
        at = (START + timedelta(seconds=number)).isoformat()
        text = f"I like {_word(number)} {_word(number * 7 + 3)}."
        records.append(_record(f"s{number % subjects}", f"c{number % subjects}", number, "user", text, at))
    return Load("every_turn", records)


def _word(number: int) -> str:
    letters = "bdfghklmnprstvz"
    vowels = "aeiou"
    word = ""
    for _ in range(4):
        number, digit = divmod(number, len(letters) * len(vowels))
        word += letters[digit // len(vowels)] + vowels[digit % len(vowels)]
    return word


def _record(subject: str, conversation: str, number: int, role: str, text: str, at: str) -> tuple[bytes, bytes]:
    body = {
        "tenant": "default",
        "subject": subject,
        "conversation": conversation,
        "message_id": f"m{number}",
        "role": role,
        "text": text,
        "at": at,
    }
    return f"default:{subject}".encode(), orjson.dumps(body)


def publish(settings: Settings, records: Sequence[tuple[bytes, bytes]]) -> None:
    """Produce all records as any platform would."""
    producer = Producer({"bootstrap.servers": settings.kafka, "partitioner": "murmur2_random", "linger.ms": 5})
    for number, (key, body) in enumerate(records):
        producer.produce(TURNS, body, key=key)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()


PIPELINE = {name: SUBSCRIPTIONS[name] for name in ("extractor", "gate", "resolver")}
"""Consumers up to the committed memory, and their topics."""
_QUIET_LOOKS = 3
"""Looks without lag that end a run: what is stored is published a moment later."""


def settled(settings: Settings, turns: int, limit_s: float = 600.0) -> float:
    """Wait until every turn was taken to its committed memory; return when that was.

    Positions are looked at, not rows, so that measuring costs the database next to nothing.
    """
    admin, topics = admin_client(settings), {topic for names in PIPELINE.values() for topic in names}
    deadline, quiet, since = time.perf_counter() + limit_s, 0, 0.0
    with psycopg.connect(settings.database, autocommit=True) as connection:
        while quiet < _QUIET_LOOKS and time.perf_counter() < deadline:
            stored = offsets.stored_positions(connection, ends := offsets.log_ends(admin, topics))
            left = [offsets.behind(ends, set(PIPELINE[name]), stored[name], stored[name]) for name in PIPELINE]
            busy = any(count for one in left for count in one.values())
            quiet, since = (0, 0.0) if busy else (quiet + 1, since or time.perf_counter())
            time.sleep(0.2)
        _check(connection, turns)
    return since


def _check(connection: psycopg.Connection, turns: int) -> None:
    query = (
        "SELECT (SELECT count(*) FROM turns), (SELECT count(*) FROM candidates) - (SELECT count(*) FROM decisions),"
        " (SELECT count(*) FROM decisions d WHERE d.outcome <> 'reject' AND NOT EXISTS"
        " (SELECT FROM sources s WHERE s.candidate = d.candidate))"
    )
    found = connection.execute(query).fetchone()
    if found != (turns, 0, 0):
        raise SystemExit(f"turns, undecided and unresolved are {found}, expected {(turns, 0, 0)}")


@dataclass(frozen=True, slots=True)
class Run:
    """One measured load: turns per second, and processor time of each process in microseconds a turn."""

    turns_per_s: float
    processor_us: dict[str, float]


def throughput(settings: Settings, load: Load) -> Run:
    """Measure from the first produce to the last committed memory."""
    with psycopg.connect(settings.database, autocommit=True) as connection:
        before = (connection.execute("SELECT count(*) FROM turns").fetchone() or (0,))[0]
    spent, started = processor_s(settings.home), time.perf_counter()
    publish(settings, load.records)
    turns = len(load.records)
    speed = turns / (settled(settings, before + turns) - started)
    used = {name: 1e6 * (after - spent[name]) / turns for name, after in processor_s(settings.home).items()}
    return Run(speed, used)


def processor_s(folder: Path) -> dict[str, float]:
    """Processor time that each part and consumer has used so far, its children included, in seconds."""
    running = json.loads((folder / "run.json").read_text())
    return {name: _used(entry["pid"]) for name, entry in (running["parts"] | running["consumers"]).items()}


def _used(pid: int) -> float:
    process = psutil.Process(pid)
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return float(total)


def idle_latency(settings: Settings, samples: int) -> list[float]:
    """Seconds from produce to recallable, one turn at a time on an idle pipeline, sorted."""
    token = next(t for t, who in json.loads(settings.tokens_file.read_text()).items() if who["role"] == "operator")
    seconds = []
    with httpx.Client(base_url=settings.api, headers={"Authorization": f"Bearer {token}"}) as client:
        for number in range(samples + 5):
            seconds.append(_one_turn(settings, client, number))
            time.sleep(0.3)
    return sorted(seconds[5:])


def _one_turn(settings: Settings, client: httpx.Client, number: int) -> float:
    subject, thing = f"idle{number}", _word(number + 11)
    record = _record(subject, "idle", number, "user", f"I like {thing}.", datetime.now(UTC).isoformat())
    started = time.perf_counter()
    publish(settings, [record])
    while time.perf_counter() - started < 10:
        answer = client.post("/v1/recall", json={"subject": subject, "query": thing}).json()
        if answer["items"]:
            return time.perf_counter() - started
        time.sleep(0.002)
    raise SystemExit("a turn was not recallable within 10 s")


def resident(folder: Path) -> dict[str, float]:
    """Resident memory of each consumer process, in megabytes."""
    consumers = json.loads((folder / "run.json").read_text())["consumers"]
    return {name: psutil.Process(entry["pid"]).memory_info().rss / 1e6 for name, entry in consumers.items()}


def p95(ordered: Sequence[float]) -> float:
    """The 95th percentile of sorted values (nearest rank)."""
    return ordered[max(0, -(-95 * len(ordered) // 100) - 1)]


def run(lines: Sequence[dict[str, str]], arguments: argparse.Namespace) -> dict[str, dict[str, object]]:
    """Measure everything in one run."""
    conversation = repeated(lines, arguments.turns)
    with home() as folder:
        _tell("bare loop")
        with running(folder, consumers=False) as settings:
            yardstick = bare.measure(settings, [body for _, body in conversation.records] * _BARE_ROUNDS)
        with running(folder, consumers=True) as settings:
            _tell("one turn at a time")
            latency = idle_latency(settings, arguments.samples)
            runs: dict[str, Run] = {}
            for load in (conversation, every_turn(arguments.memories, 400)):
                _tell(f"{load.name}: {len(load.records)} turns")
                runs[load.name] = throughput(settings, load)
            megabytes = resident(folder)
    return {
        "ratio": {name: round(one.turns_per_s / yardstick, 4) for name, one in runs.items()},
        "absolute": {
            "bare_turns_per_s": round(yardstick),
            **{f"{name}_turns_per_s": round(one.turns_per_s) for name, one in runs.items()},
            **{f"{name}_processor_us": _rounded(one.processor_us) for name, one in runs.items()},
            "produce_to_recallable_p50_ms": round(latency[len(latency) // 2] * 1e3, 1),
            "produce_to_recallable_p95_ms": round(p95(latency) * 1e3, 1),
            "resident_mb": _rounded(megabytes),
            "valid": yardstick >= bare.FLOOR,
        },
    }


def _rounded(values: dict[str, float]) -> dict[str, int]:
    return {name: round(value) for name, value in values.items()}


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "role" in entry and "text" in entry:
            yield {"user": entry.get("user") or entry["subject"]} | {
                name: entry[name] for name in ("conversation", "role", "text", "at")
            }


def main() -> None:
    """Parse arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=CONVERSATION, help="conversation in the simple form, JSON lines")
    parser.add_argument("--turns", type=int, default=50_000)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = run(list(_lines(arguments.file)), arguments)
    if arguments.json:
        print(json.dumps(figures))
        return
    for group, values in figures.items():
        for name, value in values.items():
            print(f"{group:9} {name:32} {value}")


if __name__ == "__main__":
    main()
