"""`obelus lineage`: what a memory came from, and what was made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.named import an_id

if TYPE_CHECKING:
    from schemas.settings import Settings
    from stores.lineage import Graph


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(lineage)


def lineage(
    memory: Annotated[str, typer.Argument(help="Id of a memory.")],
    tenant: Annotated[str, typer.Option(help="Tenant.", callback=an_id)] = "default",
    opened: Annotated[bool, typer.Option("--open", help="Show content too, by the person's key.")] = False,
    as_dot: Annotated[bool, typer.Option("--dot", help="In Graphviz' language.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document: W3C PROV-JSON.")] = False,
) -> None:
    """Show what a memory came from, and what was made from it; ids and kinds only, unless content is asked for."""
    from deploy.cli import lineage_forms as forms
    from deploy.cli.failures import NO
    from deploy.cli.output import emit, note
    from schemas.settings import Settings

    found = _found(Settings.load(("database", "vault")), tenant, _id(memory), opened)
    if found is None:
        note("this tenant has no such memory")
        raise typer.Exit(NO)
    if as_json:
        emit(forms.prov(found))
    elif as_dot:
        typer.echo(forms.dot(found))
    else:
        typer.echo(forms.tree(found))


def _id(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != 16:
        raise typer.BadParameter("is no id of a memory: 32 hexadecimal digits")
    return found


def _found(settings: Settings, tenant: str, memory: bytes, opened: bool) -> Graph | None:
    from contextlib import closing

    from deploy.cli.output import note
    from schemas.errors import PartUnavailable
    from stores.cache import redis_client
    from stores.database import connect
    from stores.lineage import Opener, graph, whose
    from stores.lineage_cache import look_after_copies
    from stores.vault import open_vault

    with closing(open_vault(settings)) as vault:
        lookup = vault.lookup(tenant)
        if lookup is None:
            return None
        with connect(settings.database, application="obelus lineage") as conn:
            held = whose(conn, lookup.tenant_ref, memory)
            if held is None:
                return None
            handle, _ = held
            opener = Opener(vault.data_keys([handle])[handle], lookup) if opened else None
            found = graph(conn, handle, memory, opener)
        if settings.redis:
            try:
                with closing(redis_client(settings)) as client:
                    look_after_copies(found, client, handle)
            except PartUnavailable as error:
                note(f"whether copies are still there was not looked at: {error}")
        return found
