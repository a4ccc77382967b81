"""`obelus decisions`: what policy said, of what, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.named import an_id

if TYPE_CHECKING:
    from schemas.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(decisions)


def decisions(
    tenant: Annotated[str, typer.Option(help="Tenant.", callback=an_id)] = "default",
    subject: Annotated[str | None, typer.Option(help="Of one person only.", callback=an_id)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """List what policy decided, with rule and reasons, newest last."""
    from deploy.cli.output import emit
    from schemas.settings import Settings

    found = _found(Settings.load(("database", "vault")), tenant, subject)
    if as_json:
        emit({"decisions": found})
    else:
        _show(found)


def _found(settings: Settings, tenant: str, subject: str | None) -> list[dict[str, Any]]:
    from contextlib import closing

    from stores.database import connect
    from stores.decision_records import decisions as read
    from stores.vault import open_vault

    with closing(open_vault(settings)) as vault:
        lookup = vault.lookup(tenant)
        if lookup is None:
            return []
        ref = None if subject is None else lookup.subject(subject)
        with connect(settings.database, application="obelus decisions") as tx:
            return list(read(tx, vault, lookup.tenant_ref, ref))


def _show(found: list[dict[str, Any]]) -> None:
    """Print two lines a decision: what it was about, and why it fell so."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for one in found:
        of = one["candidate"]
        about = of.get("action") or " / ".join(of[name] for name in ("key", "value") if of[name])
        style = _STYLES.get(one["outcome"], "")
        console.print(Text.assemble((f"{one['outcome']:<10} ", style), about or "(the candidate has expired)"))
        reasons = ", ".join(one["reasons"])
        console.print(Text(f"  {one['at'][:19]} rule {one['rule']}: {reasons}", style="dim"), soft_wrap=True)
    if not found:
        console.print("policy has decided nothing")


_STYLES = {"accept": "green", "reject": "red", "quarantine": "red", "pend": "yellow", "confirm": "cyan"}
