"""`obelus up`, `down`, `status`."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(up)
    app.command()(down)
    app.command()(status)


def up(
    detach: Annotated[bool, typer.Option("--detach", help="Return when it is ready.")] = False,
    no_consumers: Annotated[bool, typer.Option("--no-consumers", help="Parts alone.")] = False,
) -> None:
    """Start the embedded parts and every consumer; Ctrl-C stops them all."""
    from pathlib import Path

    from deploy.cli.output import note
    from schemas.settings import Settings
    from stores.vault_file import check_length

    # What an earlier stack left in run.json is no setting of this one.
    settings = Settings.environment()
    # Here rather than in each process in turn, which would be started again and again.
    check_length(Path(settings.vault))
    if detach:
        from deploy.cli.detach import up_detached

        raise typer.Exit(up_detached(settings.home, no_consumers=no_consumers))
    from deploy.supervisor import Supervisor

    raise typer.Exit(Supervisor(settings, note, consumers=not no_consumers).run())


def down() -> None:
    """Stop the stack of this home, everything that `up` started."""
    from deploy.cli.detach import stop
    from deploy.cli.output import note
    from schemas.settings import Settings

    home = Settings.environment().home
    note("stopped" if stop(home) else f"no stack runs in {home}")


def status(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Show parts, consumers and counts of the running stack."""
    from deploy.cli.output import emit
    from deploy.cli.state import observe, show
    from schemas.settings import Settings

    seen = observe(Settings.load())
    if as_json:
        emit(seen)
    else:
        show(seen)
