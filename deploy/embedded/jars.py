"""Kafka's own published jars, fetched once for all homes of a user.

Run as a script it fetches (`python -m deploy.embedded.jars FOLDER`): the resolver and what it
imports stay out of the supervisor's memory, and a Ctrl-C ends a download at once.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from deploy.embedded.process import leashed

KAFKA = "4.4.0"
ENDPOINT = f"org.apache.kafka:kafka_2.13:{KAFKA}+org.slf4j:slf4j-simple:1.7.36"
_EXPECTED = 45
"""How many jars that is; only for showing progress."""


def cache() -> Path:
    """The folder that keeps the jars."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "obelus" / f"kafka-{KAFKA}"


def class_path(progress: Callable[[str], None]) -> str:
    """Give Java's class path, fetching the jars where they are not all there.

    Raises:
        OSError: they cannot be fetched; the message has the resolver's last words.
    """
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two stacks may start at once
        jars = _listed(folder)
        if not jars:
            _fetch(folder, progress)
            jars = _listed(folder)
    if not jars:
        raise OSError("Kafka's jars are incomplete after fetching")
    return os.pathsep.join(jars)


def _listed(folder: Path) -> list[str]:
    """Read the list that a complete fetch left; one missing jar voids it."""
    try:
        names = (folder / "jars.txt").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    jars = [folder / name for name in names]
    return [str(jar) for jar in jars] if all(jar.is_file() for jar in jars) else []


def _fetch(folder: Path, progress: Callable[[str], None]) -> None:
    log = folder / "fetch.log"
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603
            leashed([sys.executable, "-m", "deploy.embedded.jars", str(folder)]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _show(child, folder, progress)
        finally:
            child.kill()
            child.wait()
    if child.returncode:
        words = " ".join(log.read_text("utf-8", "replace").split())[-400:]
        raise OSError(f"Kafka's jars could not be fetched: {words}")


def _show(child: subprocess.Popen[bytes], folder: Path, progress: Callable[[str], None]) -> None:
    progress(f"kafka: downloading Apache Kafka {KAFKA} (45 MB, once)")
    while child.poll() is None:
        time.sleep(1.0)
        there = sum(1 for _ in (folder / "repository").rglob("*.jar"))
        if there:
            progress(f"kafka: {min(there, _EXPECTED)} of {_EXPECTED} jars")


def fetch(folder: Path) -> None:
    """Resolve and download, then write the list, last of all and at once."""
    from jgo.env import EnvironmentBuilder, LinkStrategy
    from jgo.maven import MavenContext

    # A repository of our own: what else a user keeps in theirs is not touched.
    context = MavenContext(repo_cache=folder / "repository")
    builder = EnvironmentBuilder(context=context, cache_dir=folder / "environment", link_strategy=LinkStrategy.AUTO)
    environment = builder.from_endpoint(endpoint=ENDPOINT)
    names = [str(Path(jar).resolve().relative_to(folder)) for jar in environment.all_jars]
    unfinished = folder / "jars.new"
    unfinished.write_text("\n".join(names), "utf-8")
    unfinished.replace(folder / "jars.txt")


if __name__ == "__main__":
    fetch(Path(sys.argv[1]).resolve())
