"""`obelus recall`: what an agent would be told."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(recall)


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is asked.")],
    subject: Annotated[str, typer.Option(help="Whose memory.")],
    tenant: Annotated[str, typer.Option(help="Tenant.")] = "default",
    at: Annotated[str | None, typer.Option(help="As of this time (RFC 3339).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=50, help="Most items.")] = None,
    scope: Annotated[str | None, typer.Option(help="The project or device at hand.")] = None,
    conversation: Annotated[str | None, typer.Option(help="Add this conversation's window.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Recall what bears on a question, as a context pack."""
    from deploy.cli.output import emit
    from policy.document import load_policy
    from recall.context import open_recall
    from recall.model import Question
    from schemas.settings import Settings

    settings = Settings.load(("database", "qdrant", "vault", "redis"))
    policy = load_policy(settings.policy)
    question = Question(
        tenant=_checked(tenant, "--tenant"),
        subject=_checked(subject, "--subject"),
        text=query,
        limit=limit or policy.ranking.top_k,
        token_budget=policy.ranking.token_budget,
        at=_time(at),
        scope=None if scope is None else _checked(scope, "--scope"),
        conversation=None if conversation is None else _checked(conversation, "--conversation"),
    )
    with open_recall(settings, policy) as service:
        answer = service.answer(question).as_json()
    if as_json:
        emit(answer)
    else:
        _show(answer)


def _checked(value: str, option: str) -> str:
    from schemas.ids import check_id

    try:
        return check_id(value)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None


def _time(text: str | None) -> datetime | None:
    from datetime import UTC

    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("--at: a time is written as 2026-01-31T12:00:00Z") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _show(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if answer["degraded"]:
        console.print("degraded: a part does not answer, so there may be more than this", style="yellow")
    if not answer["items"]:
        console.print("nothing is remembered that bears on this")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("score", "type", "key", "value", "when", "since", "source"):
        table.add_column(name)
    for item in answer["items"]:
        sign = "not " if item["polarity"] == "negative" else ""
        cells = (f"{item['score']:.2f}", item["type"], item["key"], sign + item["value"])
        when, since = ", ".join(item["conditions"]), str(item["valid_from"])[:10]
        table.add_row(*cells, when, since, item["source"]["conversation"] or "-")
    console.print(table)
    for conflict in answer["conflicts"]:
        said = " or ".join(option["value"] for option in conflict["options"])
        console.print(f"conflict: {conflict['key']}: {said}", style="yellow", markup=False)
