"""Segment files of the broker, where it runs on this machine: the proof that bytes are gone.

A file's name is the offset that its segment begins with, so the names alone say which offsets a
folder can still hold. Files on their way out (``.deleted``) count until they are gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from streams.client import unavailable

_TIMEOUT_SECONDS = 5.0
_URL_SAFE = str.maketrans("+/", "-_")
# Records lie in .log files, and in copies of them that the broker makes or is about to remove.
_RECORDS = re.compile(r"(\d{20})\.log(\.\w+)?")


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """The log folders of a broker that is the only one of its cluster."""

    folders: tuple[Path, ...]

    def clean(self, topic: str, topic_id: str, part: int, fence: int) -> bool:
        """True where no file of the partition can hold an offset below the fence."""
        if fence <= 0:
            return True
        own, others = self._split(topic, topic_id, part)
        if others:
            # A topic of this name that was deleted is still on its way from the disk.
            return False
        return bool(own) and all(base >= fence for folder in own for base, _ in _bases(folder))

    def boundary(self, topic: str, topic_id: str, part: int, fence: int) -> int | None:
        """Give where the first segment begins that holds nothing below the fence; None where none does yet."""
        own, _ = self._split(topic, topic_id, part)
        bases = [base for folder in own for base, suffix in _bases(folder) if base >= fence and not suffix]
        return min(bases, default=None)

    def _split(self, topic: str, topic_id: str, part: int) -> tuple[list[Path], list[Path]]:
        name = f"{topic}-{part}"
        found = [child for folder in self.folders for child in _listed(folder)]
        named = [child for child in found if child.name == name or child.name.startswith(f"{name}.")]
        # Kafka spells an id in base64url, the client in plain base64.
        spelled = topic_id.translate(_URL_SAFE)
        own = [child for child in named if child.name == name and _topic_id(child) == spelled]
        return own, [child for child in named if child not in own]


def visible(admin: AdminClient) -> SegmentFiles | None:
    """Find the broker's folders; None where they are not to be seen from here, or are not all there is.

    Raises:
        PartUnavailable: the broker does not answer.
    """
    try:
        cluster = admin.list_topics(timeout=_TIMEOUT_SECONDS)
        if len(cluster.brokers) != 1:
            return None
        broker = ConfigResource(ResourceType.BROKER, str(next(iter(cluster.brokers))))
        config = admin.describe_configs([broker], request_timeout=_TIMEOUT_SECONDS)[broker].result(_TIMEOUT_SECONDS)
    except KafkaException as error:
        raise unavailable(error) from error
    named = next((config[key].value for key in ("log.dirs", "log.dir") if key in config and config[key].value), "")
    folders = tuple(Path(name.strip()) for name in named.split(",") if name.strip())
    # The same path on another machine would be another broker's, or nobody's.
    if not folders or not all(_cluster_id(folder) == cluster.cluster_id for folder in folders):
        return None
    return SegmentFiles(folders)


def _bases(folder: Path) -> Iterator[tuple[int, str]]:
    for child in _listed(folder):
        match = _RECORDS.fullmatch(child.name)
        if match:
            yield int(match[1]), match[2] or ""


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _cluster_id(folder: Path) -> str | None:
    return _property(folder / "meta.properties", "cluster.id=")


def _topic_id(folder: Path) -> str | None:
    return _property(folder / "partition.metadata", "topic_id: ")


def _property(file: Path, prefix: str) -> str | None:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return next((line.removeprefix(prefix).strip() for line in lines if line.startswith(prefix)), None)
