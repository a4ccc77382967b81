"""The embedded parts for tests: one set a session, fresh databases and collections for each use."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from deploy import homekeys, parts
from deploy.embedded.part import Part, start_all, stop_all
from deploy.embedded.postgres import Postgres
from schemas.settings import Settings

_NO_SYNC: dict[str, str | int] = {
    # Tests kill processes, not the machine: the operating system keeps what was written.
    "fsync": "off",
    "full_page_writes": "off",
}


@dataclass
class Stack:
    """Running parts without consumers."""

    settings: Settings
    parts: dict[str, Part]
    _next_redis: int = 0

    def with_database(self, template: str = "template1") -> Settings:
        """Give settings with a new database, copied from a template that nobody is connected to."""
        import psycopg

        name = f"t_{secrets.token_hex(6)}"
        with psycopg.connect(self.settings.database, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')  # type: ignore[call-overload]
        return self.settings.model_copy(update={"database": _renamed(self.settings.database, name)})

    def fresh(self, template: str = "template1") -> Settings:
        """Give settings with a database, a Redis number, a vault and keys of their own.

        Topics and the index have fixed names, so tests that use them run one after another; see `empty`.
        """
        settings = self.with_database(template)
        self._next_redis = self._next_redis % 15 + 1
        home = Path(tempfile.mkdtemp(prefix="h", dir=self.settings.home))
        own = Settings(
            home=home,
            kafka=settings.kafka,
            database=settings.database,
            redis=_renamed(settings.redis, str(self._next_redis)),
            qdrant=settings.qdrant,
            embeddings="hash",
            turns_log="exclusive",
        )
        homekeys.ensure(own)
        _empty_redis(own.redis)
        return own

    def empty(self) -> None:
        """Remove what is not each database's own: topics and the index."""
        from stores.vectors import VectorIndex

        delete_topics(self.settings)
        with contextlib.closing(VectorIndex(self.settings)) as index:
            index.drop()


def _renamed(address: str, database: str) -> str:
    return urlunsplit(urlsplit(address)._replace(path=f"/{database}"))


def _empty_redis(address: str) -> None:
    import redis

    with redis.Redis.from_url(address) as client:
        client.flushdb()


@contextlib.contextmanager
def short_home() -> Iterator[Path]:
    """Make a home under a short path, and remove it."""
    home = Path(tempfile.mkdtemp(prefix="ob"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def running(home: Path) -> Iterator[Stack]:
    """Start the parts that no setting of the environment replaces; stop them afterwards."""
    base = Settings(home=home)
    needed = parts.wanted(base, parts.place(home))
    database = needed.get("database")
    if isinstance(database, Postgres):
        database.settings = _NO_SYNC
    homekeys.ensure(base)
    start_all(list(needed.values()), lambda message: os.write(2, f"{message}\n".encode()))
    try:
        values = {"home": home, "embeddings": "hash", "turns_log": "exclusive"}
        yield Stack(Settings(**values, **parts.addresses(base, needed)), needed)
    finally:
        _end(list(needed.values()))


def _end(ending: list[Part]) -> None:
    """End parts at once, as nothing of them is kept: stopping in good order takes Kafka and PostgreSQL seconds."""
    for part in ending:
        if part.child is not None:
            part.child.signal(part.child.command.orphan_signal)
    stop_all(ending)


def delete_topics(settings: Settings, timeout: float = 15.0) -> None:
    """Delete every topic but Kafka's own, and wait until they are gone."""
    import time

    from confluent_kafka.admin import AdminClient

    deadline = time.monotonic() + timeout
    with AdminClient({"bootstrap.servers": settings.kafka}) as admin:
        while True:
            names = [name for name in admin.list_topics(timeout=10).topics if not name.startswith("__")]
            if not names or time.monotonic() > deadline:
                break
            for future in admin.delete_topics(names).values():
                with contextlib.suppress(Exception):  # already on its way
                    future.result()
            time.sleep(0.05)
    assert not names, f"topics are still there: {names}"
