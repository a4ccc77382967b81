"""`obelus accept-lost`: go on without what an inbound log has lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from consumers.losses import Loss
    from schemas.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("accept-lost")(accept_lost)


def accept_lost(
    ranges: Annotated[
        list[str],
        typer.Argument(metavar="CONSUMER:TOPIC/PARTITION:FIRST-LAST", help="As the consumer's log names it."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Let a consumer go on that stopped because a log no longer has what it has not read.

    What was there is never processed: turns, controls, deletion requests. First see whether the log can be brought
    back, or its records published again. Accepting is kept on record, and again is safe; exit status 1 where a range
    is not what the consumer has lost. A consumer that the stack has given up starts with the next `obelus up`.
    """
    from consumers.losses import Loss
    from deploy.cli.output import emit, note
    from schemas.settings import Settings

    try:
        losses = [Loss.parse(text) for text in ranges]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    settings = Settings.load(needs=("database", "kafka"))
    outcomes = {str(loss): _accepted(settings, loss) for loss in losses}
    if as_json:
        emit({"accepted": [{"range": name, "outcome": outcome} for name, outcome in outcomes.items()]})
    else:
        note("\n".join(f"{name}: {outcome}" for name, outcome in outcomes.items()))
    if any(not outcome.startswith("accepted") for outcome in outcomes.values()):
        raise typer.Exit(1)


def _accepted(settings: Settings, loss: Loss) -> str:
    from consumers import positions
    from consumers.losses import NotLost, accept
    from schemas.errors import PositionMoved
    from stores.database import connect, translate
    from streams.offsets import log_ends
    from streams.topics import admin_client

    ends = [end for end in log_ends(admin_client(settings), [loss.topic]) if end.part == loss.part]
    if not ends:
        return f"there is no {loss.topic}/{loss.part}"
    with translate(), connect(settings.database, application="obelus accept-lost") as tx:
        number = positions.logs(tx, {loss.topic: ends[0].topic_id})[loss.topic]
        try:
            return "accepted" if accept(tx, loss, number, ends[0].low, ends[0].high) else "accepted before"
        except NotLost as error:
            return str(error)
        except PositionMoved:
            return "its consumer runs and has just moved on"
