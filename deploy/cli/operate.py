"""Commands for operators: `run`, `migrate`, `topics apply`."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(run)
    app.command()(migrate)
    topics = typer.Typer(help="The topics of the log.", no_args_is_help=True)
    topics.command("apply")(apply)
    topics.callback()(lambda: None)
    app.add_typer(topics, name="topics")


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


def apply() -> None:
    """Create what topics are missing and bring their settings to this version."""
    from deploy.cli.output import note
    from schemas.settings import Settings
    from streams.topics import apply as bring

    bring(Settings.load(needs=("kafka",)))
    note("topics are in place")
