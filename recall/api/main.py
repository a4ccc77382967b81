"""`obelus run api`: the HTTP server, and the process's own health beside it."""

from __future__ import annotations

import logging
import sys
from urllib.parse import urlsplit

import uvicorn

from recall.api.app import build
from recall.api.context import Context, open_context
from recall.api.housekeeping import Housekeeping
from schemas.errors import ConfigurationError
from schemas.settings import Settings
from streams.metrics import serve

# A handler thread and the event loop share one interpreter; the default of 5 ms is the length of a whole recall.
_SWITCH_SECONDS = 0.0005
_GRACE_SECONDS = 3


def main(settings: Settings) -> int:
    """Serve until told to stop.

    Raises:
        ConfigurationError: ``OBELUS_API`` names no address, or a part's setting is wrong.
    """
    host, port = _address(settings)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # These two write what they are sent or asked, addresses with ids in them included.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    sys.setswitchinterval(_SWITCH_SECONDS)
    context = open_context(settings)
    housekeeping = Housekeeping(context)
    health = serve(settings.health_port, housekeeping.ready)
    housekeeping.start()
    try:
        server(context, host, port).run()
    finally:
        housekeeping.stop()
        health.shutdown()
        context.close()
    return 0


def server(context: Context, host: str, port: int) -> uvicorn.Server:
    """Give a server that logs no request: paths and queries hold ids."""
    return uvicorn.Server(
        uvicorn.Config(
            build(context),
            host=host,
            port=port,
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )


def _address(settings: Settings) -> tuple[str, int]:
    settings.require("api")
    text = settings.api if "://" in settings.api else f"http://{settings.api}"
    parts = urlsplit(text)
    if not parts.hostname or not parts.port:
        raise ConfigurationError("OBELUS_API must name a host and a port")
    return parts.hostname, parts.port
