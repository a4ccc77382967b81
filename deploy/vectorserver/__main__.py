"""`python -m deploy.vectorserver --dir FOLDER --port PORT`."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn

from deploy.vectorserver.app import application
from deploy.vectorserver.server import ASIDE_ABOVE, Collections


def main() -> None:
    """Serve one data folder on loopback."""
    parser = argparse.ArgumentParser(prog="deploy.vectorserver", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="data folder")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--aside-above", type=int, default=ASIDE_ABOVE, help="points of a collection rebuilt aside")
    arguments = parser.parse_args()
    app = application(Collections(arguments.dir, arguments.aside_above))
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=arguments.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main()
