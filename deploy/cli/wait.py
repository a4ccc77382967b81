"""`obelus wait`: until every consumer has caught up with every topic and nothing is in flight."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(wait)


def wait(
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait at most.")] = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Wait until all that was published has been worked off; exit status 1 where the time is up before."""
    from deploy.cli.output import emit, note
    from deploy.idle import Watch
    from schemas.settings import Settings

    with Watch(Settings.load()) as watch:
        idle = watch.until_idle(timeout, lambda busy: note(f"busy: {busy}"))
        lag = watch.lag
    if as_json:
        emit({"lag": lag})
    elif idle:
        print("caught up")
    if not idle:
        note("obelus: the time is up, and there is work left")
        raise typer.Exit(1)
