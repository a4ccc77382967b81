"""`obelus erasures`: deletion requests, how old they are and what each waits for."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(erasures)


def erasures(
    only_open: Annotated[bool, typer.Option("--open", help="Not yet verified.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """List deletion requests with age, state and what each waits for."""
    from deploy.cli.output import emit
    from schemas.settings import Settings

    rows = _rows(Settings.load(("database", "vault")), only_open)
    if as_json:
        emit({"erasures": rows})
        return
    for row in rows:
        # No table: in a narrow one the ids, which are there to be copied, would be cut.
        # What has expired was asked for by nobody.
        print(f"{row['state']:<12}{row['request_id'] or row['kind']}  {row['erasure_id']}")
        waits = f", waits for {', '.join(row['waiting_for'])}" if row["waiting_for"] else ""
        print(f"  asked {row['age_s']} s ago, deadline {row['deadline']}{waits}")
    if not rows:
        print("none is open" if only_open else "no deletion was requested")


def _rows(settings: Any, only_open: bool) -> list[dict[str, Any]]:
    from datetime import UTC, datetime

    from policy.receipts import stamp
    from stores import erasures as book
    from stores.database import connect
    from stores.vault import open_vault

    now = datetime.now(UTC)
    vault = open_vault(settings)
    try:
        with connect(settings.database, autocommit=True, application="obelus erasures") as conn:
            found = book.listing(conn, only_open=only_open)
            waits = book.waiting(conn, [one.id for one in found])
        return [
            {
                "request_id": book.request_id(vault, one.id),
                "erasure_id": one.id.hex(),
                "kind": one.kind,
                "state": one.state.value,
                "age_s": int((now - one.requested_at).total_seconds()),
                "deadline": stamp(one.deadline),
                "waiting_for": [*_steps(one, now), *waits[one.id]],
            }
            for one in found
        ]
    finally:
        vault.close()


def _steps(one: Any, now: Any) -> list[str]:
    from policy.receipts import stamp

    if one.state.value != "planned":
        return []
    if one.not_before is not None and one.not_before > now:
        return [f"grace period until {stamp(one.not_before)}"]
    return ["block"]
