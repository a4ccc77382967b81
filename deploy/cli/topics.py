"""`obelus topics apply`: the declared topics, created where they are missing."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    topics = typer.Typer(help="The topics of the log.", no_args_is_help=True)
    topics.command("apply")(apply)
    topics.callback()(lambda: None)
    app.add_typer(topics, name="topics")


def apply(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Create what is missing; what differs from its declaration is named, not changed.

    Exit status 1 where something differs.
    """
    from deploy.cli.output import emit, note
    from schemas.settings import Settings
    from streams.topics import apply as bring

    lines = bring(Settings.load(needs=("kafka",)))
    drift = [line.removeprefix("drift ") for line in lines if line.startswith("drift ")]
    if as_json:
        created = [line.removeprefix("created ") for line in lines if line.startswith("created ")]
        emit({"created": created, "drift": drift})
    else:
        note("\n".join([*lines, "topics are in place"]))
    if drift:
        raise typer.Exit(1)
