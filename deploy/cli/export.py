"""`obelus export`: all that is held of a person."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(export)


def export(
    subject: Annotated[str, typer.Option(help="Whose data.")],
    tenant: Annotated[str, typer.Option(help="Tenant.")] = "default",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Give all that is held of a person, values opened, with counts."""
    from deploy.cli.output import emit
    from recall.export import export as collect
    from schemas.settings import Settings
    from stores.database import connect
    from stores.vault import open_vault

    settings = Settings.load(("database", "vault"))
    vault = open_vault(settings)
    try:
        with connect(settings.database, application="obelus export") as connection:
            found = collect(connection, vault, tenant, subject)
    finally:
        vault.close()
    if as_json:
        emit(found)
        return
    for name, count in found["manifest"].items():
        print(f"{name:16} {count}")
    print("--json gives the values")
