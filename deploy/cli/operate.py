"""Commands for operators: `run`, `migrate`."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(run)
    app.command()(migrate)


def run(name: Annotated[str, typer.Argument(help="extractor, gate, resolver, …")]) -> None:
    """Run one consumer in this process."""
    from deploy.cli.run import run as run_consumer

    raise typer.Exit(run_consumer(name))


def migrate() -> None:
    """Bring the tables to this version."""
    from deploy.cli.output import note
    from schemas.settings import Settings
    from stores.migrate import migrate as bring

    bring(Settings.load(needs=("database",)).database)
    note("tables are in place")
