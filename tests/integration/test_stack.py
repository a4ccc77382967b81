"""`obelus up` and `down` as an operator meets them, kills and all."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import redis
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from qdrant_client import QdrantClient, models

from schemas.settings import Settings
from tests.stack import short_home

pytestmark = pytest.mark.integration
OBELUS = (sys.executable, "-m", "deploy.cli")


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OBELUS_")}
    return kept | {"OBELUS_HOME": str(home)}


def obelus(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OBELUS, *words],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def running(home: Path) -> dict[str, Any]:
    return dict(json.loads((home / "run.json").read_text()))


def settings_of(home: Path) -> Settings:
    return Settings(home=home, **running(home)["addresses"])


def processes(home: Path) -> list[psutil.Process]:
    """Every process that belongs to a home, found without asking the stack."""
    mine = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            words = [*process.cmdline(), process.environ().get("OBELUS_HOME", "")]
            if process.pid != os.getpid() and any(str(home) in word for word in words):
                mine.append(process)
    return mine


def family(home: Path) -> list[psutil.Process]:
    """The supervisor and all that descends from it: PostgreSQL renames its children."""
    supervisor = psutil.Process(running(home)["pid"])
    return [supervisor, *supervisor.children(recursive=True)]


def gone(family: list[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family)


def eventually(true: Callable[[], object], within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while True:
        with contextlib.suppress(Exception):
            if true():
                return
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.1)


@pytest.fixture
def home() -> Iterator[Path]:
    with short_home() as home:
        yield home
        obelus(home, "down")
        assert processes(home) == []


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """A running stack for tests that only look."""
    with short_home() as home:
        done = obelus(home, "up", "--detach", "--no-consumers")
        assert done.returncode == 0, done.stderr
        yield home
        obelus(home, "down")


@pytest.fixture
def up(home: Path) -> Path:
    done = obelus(home, "up", "--detach", "--no-consumers")
    assert done.returncode == 0, done.stderr
    return home


def write(settings: Settings) -> None:
    admin = AdminClient({"bootstrap.servers": settings.kafka})
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result()
    producer = Producer({"bootstrap.servers": settings.kafka, "enable.idempotence": True})
    for number in range(100):
        producer.produce("kept", str(number))
    assert producer.flush(10) == 0
    with psycopg.connect(settings.database) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 100) AS n")
    with redis.Redis.from_url(settings.redis) as cache:
        cache.set("kept", "100")
    time.sleep(1.1)  # what the cache promises: at most the last second is lost
    with contextlib.closing(QdrantClient(url=settings.qdrant, check_compatibility=False)) as vectors:
        vectors.create_collection("kept", models.VectorParams(size=2, distance="Dot"))
        points = [models.PointStruct(id=n, vector=[1.0, n]) for n in range(1, 101)]
        vectors.upsert("kept", points, wait=True)


def holds_all(settings: Settings) -> bool:
    consumer = Consumer({"bootstrap.servers": settings.kafka, "group.id": "check"})
    _, end = consumer.get_watermark_offsets(TopicPartition("kept", 0), timeout=5)
    consumer.close()
    with psycopg.connect(settings.database) as connection:
        rows = connection.execute("SELECT count(*) FROM kept").fetchone()
    with redis.Redis.from_url(settings.redis) as cache:
        cached = cache.get("kept")
    with contextlib.closing(QdrantClient(url=settings.qdrant, check_compatibility=False)) as vectors:
        points = vectors.count("kept", exact=True).count
    assert (end, rows, cached, points) == (100, (100,), b"100", 100)
    return True


def test_parts_that_are_killed_come_back_with_all_they_held(up: Path) -> None:
    settings = settings_of(up)
    write(settings)
    before = {name: part["pid"] for name, part in running(up)["parts"].items()}
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: all(p["pid"] != before[n] for n, p in running(up)["parts"].items()))
    eventually(lambda: holds_all(settings))
    seen = json.loads(obelus(up, "status", "--json").stdout)
    assert {part["state"] for part in seen["parts"].values()} == {"running"}
    assert {part["restarts"] for part in seen["parts"].values()} >= {1}


def test_a_supervisor_that_is_killed_leaves_no_orphan_and_loses_nothing(up: Path) -> None:
    settings = settings_of(up)
    write(settings)
    os.kill(running(up)["pid"], signal.SIGKILL)
    again = obelus(up, "up", "--detach", "--no-consumers")  # at once, in the middle of its end
    assert again.returncode == 0, again.stderr
    assert settings_of(up).database == settings.database
    assert holds_all(settings_of(up))
    everyone = family(up)
    assert len(everyone) > 8
    os.kill(running(up)["pid"], signal.SIGKILL)
    eventually(lambda: gone(everyone) and processes(up) == [])
    assert obelus(up, "status").returncode == 3
    asked = obelus(up, "memories", "--subject", "somebody")
    assert asked.returncode == 3
    assert "obelus up" in asked.stderr


def test_down_leaves_nothing_running_and_the_data(up: Path) -> None:
    write(settings_of(up))
    everyone = family(up)
    assert obelus(up, "down").returncode == 0
    assert gone(everyone)
    assert processes(up) == []
    assert not (up / "run.json").exists()
    assert obelus(up, "up", "--detach", "--no-consumers").returncode == 0
    assert holds_all(settings_of(up))


def test_a_second_up_on_the_same_home_is_refused(shared: Path) -> None:
    for words in (("up",), ("up", "--detach")):
        second = obelus(shared, *words)
        assert second.returncode == 2
        assert "runs in" in second.stderr
        assert "obelus down" in second.stderr
    assert obelus(shared, "status").returncode == 0


def test_ctrl_c_ends_everything(home: Path) -> None:
    terminal = subprocess.Popen([*OBELUS, "up", "--no-consumers"], env=environment(home), stderr=subprocess.DEVNULL)
    eventually(lambda: running(home)["state"] == "ready")
    terminal.send_signal(signal.SIGINT)
    assert terminal.wait(90) == 0
    assert processes(home) == []


def test_ctrl_c_while_starting_ends_everything(home: Path) -> None:
    terminal = subprocess.Popen([*OBELUS, "up", "--no-consumers"], env=environment(home), stderr=subprocess.DEVNULL)
    eventually(lambda: any("kafka.Kafka" in p.cmdline() for p in processes(home)))
    terminal.send_signal(signal.SIGINT)
    terminal.wait(30)
    assert processes(home) == []
    assert obelus(home, "up", "--detach", "--no-consumers").returncode == 0


def test_a_part_that_cannot_start_is_named_with_its_last_words(up: Path) -> None:
    obelus(up, "down")
    (up / "postgres" / "data" / "PG_VERSION").write_text("9\n")
    failed = obelus(up, "up", "--detach", "--no-consumers")
    assert failed.returncode == 3
    assert "postgres ended with status" in failed.stderr
    assert "database files are incompatible with server" in failed.stderr
    assert processes(up) == []
    foreground = obelus(up, "up")
    assert foreground.returncode == 3
    assert "database files are incompatible with server" in foreground.stderr


def test_secrets_of_a_home_are_for_its_owner_alone(shared: Path) -> None:
    for name in ("run.json", "tokens.json", "vault-root.key", "keys/receipt.pem"):
        assert (shared / name).stat().st_mode & 0o077 == 0, name
    tokens = json.loads((shared / "tokens.json").read_text())
    assert {grant["role"] for grant in tokens.values()} == {
        "agent",
        "person",
        "compliance",
        "operator",
    }
    assert len(settings_of(shared).root_key_bytes()) == 32
    shown = obelus(shared, "status", "--json").stdout + obelus(shared, "status").stdout
    for secret in (shared / "keys").glob("*.password"):
        assert secret.read_text() not in shown


def test_every_port_is_on_loopback(shared: Path) -> None:
    listening = [
        connection.laddr.ip
        for process in processes(shared)
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 5
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
