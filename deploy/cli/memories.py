"""`obelus memories`: what is remembered of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.named import an_id

if TYPE_CHECKING:
    from schemas.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(memories)


def memories(
    subject: Annotated[str, typer.Option(help="Whose memories.", callback=an_id)],
    tenant: Annotated[str, typer.Option(help="Tenant.", callback=an_id)] = "default",
    everything: Annotated[bool, typer.Option("--all", help="In every status, not only active.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """List what is remembered of a person, with source, scope and confidence."""
    from deploy.cli.output import emit
    from schemas.settings import Settings

    found = _found(Settings.load(("database", "vault")), tenant, subject, everything)
    if as_json:
        emit({"memories": found})
    else:
        _show(found)


def _found(settings: Settings, tenant: str, subject: str, everything: bool) -> list[dict[str, Any]]:
    from contextlib import closing

    from schemas.words import MemoryStatus
    from stores.database import connect
    from stores.memory_records import ACTIVE, load_memories
    from stores.subjects import load_by_ref
    from stores.vault import open_vault

    statuses = frozenset(MemoryStatus) if everything else ACTIVE
    with closing(open_vault(settings)) as vault:
        lookup = vault.lookup(tenant)
        if lookup is None:
            return []
        ref = lookup.subject(subject)
        with connect(settings.database, application="obelus memories") as tx:
            row = load_by_ref(tx, [ref]).get(ref)
            if row is None or row.handle is None:
                return []
            keys = vault.data_keys([row.handle])[row.handle]
            return [memory.as_json() for memory in load_memories(tx, keys, row.epoch, statuses)]


def _show(found: list[dict[str, Any]]) -> None:
    """Print two lines a memory: a table would break ids that one wants to copy."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for one in found:
        value = f"not {one['value']}" if one["polarity"] == "negative" else one["value"]
        where = "".join(f" [{name}]" for name in (*one["conditions"], one["scope"]) if name != "global")
        console.print(Text.assemble((value, "bold"), f"  {one['namespace']} / {one['key']}{where}"))
        console.print(Text("  " + ", ".join(_details(one)), style="dim"), soft_wrap=True)
    if not found:
        console.print("nothing is remembered")


def _details(one: dict[str, Any]) -> list[str]:
    source = f"{one['source']['conversation'] or 'an order'} ×{one['source_count']}"
    details = [one["id"], f"{one['status']} {one['type']} v{one['version']}", f"since {one['valid_from'][:10]}"]
    if one["expires_at"]:
        details.append(f"until {one['expires_at'][:10]}")
    if one["last_used_at"]:
        details.append(f"used {one['last_used_at'][:10]}")
    return [*details, f"from {source}", f"confidence {one['confidence']:g}"]
