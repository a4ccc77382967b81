"""`obelus forget`: publish a deletion request and, where wanted, wait for its receipt."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from schemas.events import Deletion, Selector


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(forget)


def forget(
    tenant: Annotated[str, typer.Option(help="Tenant.")] = "default",
    subject: Annotated[str | None, typer.Option(help="Whose data.")] = None,
    whole_tenant: Annotated[bool, typer.Option("--whole-tenant", help="Everybody's.")] = False,
    memory: Annotated[str | None, typer.Option(help="One memory, by id.")] = None,
    key: Annotated[str | None, typer.Option(help="What one key holds.")] = None,
    namespace: Annotated[str | None, typer.Option(help="A namespace and all below it.")] = None,
    message: Annotated[str | None, typer.Option(help="One message, by id.")] = None,
    conversation: Annotated[str | None, typer.Option(help="One conversation.")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on (RFC 3339).")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this time (RFC 3339).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, do nothing.")] = False,
    request_id: Annotated[str | None, typer.Option(help="Id of the request; again is safe.")] = None,
    plan: Annotated[str | None, typer.Option(help="Digest of a dry run.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop this request, where it may be.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is verified.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 600.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Erase what is held of a person, everywhere, and get a receipt."""
    from deploy.cli import forgetting
    from schemas.settings import Settings

    narrow = {
        "id": memory,
        "key": key,
        "namespace": namespace,
        "message": message,
        "conversation": conversation,
        "since": _time(since),
        "until": _time(until),
    }
    if cancel is None:
        selector = _selector(subject, whole_tenant, narrow)
        if dry_run:
            raise typer.Exit(_show(forgetting.dry_run(Settings.load(), tenant, selector), as_json))
        if whole_tenant and plan is None:
            raise typer.BadParameter("--whole-tenant needs --plan, the digest that its --dry-run gives")
    else:
        selector = None
    event = _event(tenant, selector, request_id or cancel, plan, cancel is not None)
    settings = Settings.load()
    raise typer.Exit(_show(forgetting.order(settings, event, wait, timeout), as_json))


def _selector(subject: str | None, whole: bool, narrow: dict[str, Any]) -> Selector:
    from pydantic import ValidationError

    from schemas.events import Selector

    given = {name: value for name, value in narrow.items() if value is not None}
    kinds = {_KINDS[name] for name in given}
    if whole == (subject is not None):
        raise typer.BadParameter("name one of --subject and --whole-tenant")
    if len(kinds) > 1 or (whole and kinds):
        raise typer.BadParameter("one selector at a time")
    kind = "tenant" if whole else next(iter(kinds), "subject")
    try:
        return Selector.model_validate({"kind": kind, "subject": subject, **given})
    except ValidationError as error:
        raise _wrong(error) from None


def _event(tenant: str, selector: Selector | None, request: str | None, plan: str | None, cancel: bool) -> Deletion:
    import secrets

    from pydantic import ValidationError

    from schemas.events import Deletion

    try:
        return Deletion(
            request_id=request or f"forget-{secrets.token_hex(8)}",
            tenant=tenant,
            requested_by="cli",
            selector=selector,
            plan_digest=plan,
            cancel=cancel,
            nonce=None if cancel else secrets.token_urlsafe(32),
        )
    except ValidationError as error:
        raise _wrong(error) from None


_KINDS = {
    "id": "memory",
    "key": "key",
    "namespace": "namespace",
    "message": "message",
    "conversation": "conversation",
    "since": "time",
    "until": "time",
}


def _wrong(error: Any) -> typer.BadParameter:
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    said = (f"{'.'.join(map(str, fault['loc']))} {fault['msg']}".strip() for fault in faults)
    return typer.BadParameter("; ".join(said).replace("Value error, ", ""))


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise typer.BadParameter("a time is written as 2026-01-31T12:00:00Z") from None


def _show(answer: dict[str, Any], as_json: bool) -> int:
    """Print the answer and give the exit status."""
    from deploy.cli.output import emit

    status = int(answer.pop("_status", 0))
    if as_json:
        emit(answer)
        return status
    from rich.console import Console
    from rich.table import Table

    console = Console()
    counts = {store: n for store, n in answer["plan"]["counts"].items() if n}
    if answer["request_id"] is not None:
        console.print(
            f"request {answer['request_id']} · erasure {answer['erasure_id']} · [bold]{answer['state']}[/bold]"
        )
        if answer["nonce"]:
            console.print(f"nonce {answer['nonce']} (keep it: it ties the receipt to the person)")
    table = Table(title="plan", title_justify="left", box=None, pad_edge=False)
    table.add_column("store")
    table.add_column("items", justify="right")
    for store, count in counts.items():
        table.add_row(store, str(count))
    console.print(table if counts else "nothing found to erase")
    console.print(f"digest {answer['plan']['digest']}")
    return status
