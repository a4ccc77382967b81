"""`obelus control ACTION`: an order of a person or operator, and whether it was applied."""

from __future__ import annotations

from typing import Annotated

import typer

_ACTIONS = (
    "pause, resume, off, on, confirm, decline, disable, correct (--value), narrow (--scope) and rollback with "
    "--memory, revert with --conversation or --since and --until, pre_compress with --conversation"
)


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(control)


def control(
    action: Annotated[str, typer.Argument(metavar="ACTION", help=f"One of: {_ACTIONS}.")],
    subject: Annotated[str, typer.Option(help="Whose memory.")],
    tenant: Annotated[str, typer.Option(help="Tenant.")] = "default",
    memory: Annotated[str | None, typer.Option(help="The memory, by id.")] = None,
    value: Annotated[str | None, typer.Option(help="The right value, for correct.")] = None,
    conversation: Annotated[str | None, typer.Option(help="The conversation it is about.")] = None,
    scope: Annotated[str | None, typer.Option(help="The new scope, for narrow.")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on, for revert.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this time, for revert.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Id of the order; again is safe.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Order something, and wait until it is applied; exit status 1 where it was not."""
    from deploy.cli.output import emit
    from recall import orders
    from recall.problems import Problem
    from schemas.settings import Settings
    from stores.database import connect, translate
    from stores.vault import open_vault
    from streams.producer import publish

    given = {"action": action, "memory": memory, "value": value, "conversation": conversation, "scope": scope}
    given |= {"since": since, "until": until, "request_id": request_id}
    try:
        event = orders.control(tenant, subject, "operator", given)
    except Problem as problem:
        places = [".".join(map(str, fault["loc"])) for fault in problem.errors or ()]
        if places == ["action"]:
            raise typer.BadParameter(f"there is no action {action}, but {_ACTIONS}") from None
        wrong = ", ".join(filter(None, places))
        raise typer.BadParameter(f"malformed: {wrong}" if wrong else f"{action} needs more: {_ACTIONS}") from None
    settings = Settings.load(("kafka", "database", "vault"))
    publish(settings, [orders.control_message(event)])
    vault = open_vault(settings)
    try:
        with translate(), connect(settings.database, autocommit=True, application="obelus control") as connection:
            outcome = orders.await_(lambda: orders.control_outcome(connection, vault, event), timeout)
    finally:
        vault.close()
    applied, how = outcome or (False, None)
    if as_json:
        emit({"request_id": event.request_id, "applied": applied, "outcome": how})
    else:
        print(f"{event.request_id}: {'applied' if applied else how or 'not applied in time'}")
    if not applied:
        raise typer.Exit(1)
