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
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("status", "type", "key", "value", "when", "since", "until", "source", "id"):
        table.add_column(name, overflow="fold")
    for one in found:
        when = ", ".join([*one["conditions"], *([one["scope"]] if one["scope"] != "global" else [])])
        value = f"not {one['value']}" if one["polarity"] == "negative" else one["value"]
        source = f"{one['source']['conversation'] or '-'} ×{one['source_count']}"
        days = ((one["valid_from"] or "")[:10], (one["expires_at"] or "-")[:10])
        cells = (one["status"], one["type"], one["key"], value, when or "-", *days, source, one["id"][:8])
        table.add_row(*map(_plain, cells))
    Console().print(table if found else "nothing is remembered")


def _plain(cell: str) -> Any:
    """Keep what people said from being read as markup."""
    from rich.text import Text

    return Text(str(cell))
