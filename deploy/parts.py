"""Which parts a stack needs to bring along: those that no setting replaces."""

from __future__ import annotations

from pathlib import Path

from deploy.embedded.kafka import Kafka
from deploy.embedded.part import Part, Place
from deploy.embedded.ports import Ports
from deploy.embedded.postgres import Postgres
from deploy.embedded.valkey import Valkey
from deploy.embedded.vectors import Vectors
from schemas.settings import Settings

PARTS: dict[str, type[Part]] = {
    "kafka": Kafka,
    "database": Postgres,
    "redis": Valkey,
    "qdrant": Vectors,
}
"""By the setting that replaces each."""


def place(home: Path) -> Place:
    """Open a home, making it if need be."""
    home.mkdir(parents=True, exist_ok=True, mode=0o711)
    return Place(home, Ports(home / "ports.json"))


def wanted(settings: Settings, where: Place | None = None) -> dict[str, Part]:
    """Make the parts that no setting replaces, by the name of their setting."""
    where = where or place(settings.home)
    return {name: part(where) for name, part in PARTS.items() if not getattr(settings, name)}


def addresses(settings: Settings, parts: dict[str, Part]) -> dict[str, str]:
    """Give every part's address, brought along or set."""
    return {name: parts[name].address if name in parts else getattr(settings, name) for name in PARTS}
