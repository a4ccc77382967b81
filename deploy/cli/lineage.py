"""`obelus lineage`: what a memory came from, and what was made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.named import an_id

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from schemas.settings import Settings
    from stores.lineage import Graph, Key


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
        _show(found)


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
    from stores.lineage_cache import add_cached
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
            keys = vault.data_keys([handle])[handle]
            found = graph(conn, handle, memory, Opener(keys, lookup) if opened else None)
        if settings.redis:
            try:
                with closing(redis_client(settings)) as client:
                    add_cached(found, client, keys)
            except PartUnavailable as error:
                note(f"without what is cached: {error}")
        return found


def _show(found: Graph) -> None:
    from rich.console import Console
    from rich.tree import Tree

    tree = Tree(_label(found, found.start))
    sources = tree.add("from", style="dim")
    _grow(found, found.start, sources, upwards=True)
    derived = tree.add("made from it", style="dim")
    _grow(found, found.start, derived, upwards=False)
    if not derived.children:
        derived.add("nothing")
    Console(soft_wrap=True, highlight=False).print(tree)


def _grow(found: Graph, key: Key, branch: Tree, *, upwards: bool) -> None:
    for near in found.parents(key) if upwards else found.children(key):
        grown = branch.add(_label(found, near))
        _grow(found, near, grown, upwards=upwards)
        # A window or an artefact may hang on a turn directly: it is shown where it hangs.
        for child in found.children(near) if upwards else ():
            if child.kind in ("window", "artefact"):
                grown.add(_label(found, child))


def _label(found: Graph, key: Key) -> Text:
    from rich.text import Text

    node = found.nodes[key]
    when = f"  {node.at:%Y-%m-%d %H:%M}" if node.at else ""
    shown = f"  “{node.shown}”" if node.shown else ""
    return Text.assemble((key.kind, "bold"), f" {key.id.hex()}  {node.about}{when}{shown}")
