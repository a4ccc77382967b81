"""`obelus demo`: the main job on the embedded stack, from turns to a verified receipt."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(demo)


def demo() -> None:
    """Show the whole pipeline on a conversation that comes with Obelus; about two minutes."""
    from rich.console import Console

    from deploy.demo.script import play

    raise typer.Exit(play(Console()))
