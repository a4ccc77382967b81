"""`obelus run NAME`: one consumer in this process."""

from __future__ import annotations

from importlib import import_module

from deploy.roles import CONSUMERS
from schemas.errors import ConfigurationError
from schemas.settings import Settings


def run(name: str) -> int:
    """Run a consumer until it is told to stop; give its exit status.

    Raises:
        ConfigurationError: there is no such consumer, or a setting is missing.
    """
    if name not in CONSUMERS:
        raise ConfigurationError(f"no consumer `{name}`; there are {', '.join(CONSUMERS)}")
    settings = Settings.load()
    return int(import_module(CONSUMERS[name]).main(settings))
