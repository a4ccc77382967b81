"""`obelus audit`: drift between stores, bytes of planted texts anywhere, a digest of the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from schemas.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(audit)


def audit(
    tenant: Annotated[str, typer.Option(help="Tenant of the subject.")] = "default",
    subject: Annotated[str | None, typer.Option(help="What is left of one person.")] = None,
    canary: Annotated[list[str] | None, typer.Option(help="A text to look for everywhere.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Erase what should be gone.")] = False,
    with_hash: Annotated[bool, typer.Option("--hash", help="Digest of the truth.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Look for drift; with --canary also search every byte under the home."""
    from schemas.settings import Settings

    settings = Settings.load(("database", "vault", "redis", "qdrant"))
    answer: dict[str, Any] = {"drift": _drift(settings, repair), "hits": _hits(settings, canary or [])}
    if subject is not None:
        answer["subject"] = _subject(settings, tenant, subject)
    if with_hash:
        answer["hash"] = _hash(settings)
    _show(answer, as_json)
    left = answer.get("subject", {}).get("erased_but_there", {})
    raise typer.Exit(1 if answer["drift"] or left else 0)


def _drift(settings: Settings, repair: bool) -> list[dict[str, Any]]:
    from deploy.audit.drift import drift

    return drift(settings, repair=repair)


def _hits(settings: Settings, canaries: list[str]) -> list[dict[str, Any]]:
    if not canaries:
        return []
    from dataclasses import asdict

    from deploy.audit.forms import forms
    from deploy.audit.live import ask
    from deploy.audit.scan import scan

    wanted = {canary: forms(canary) for canary in canaries}
    return [asdict(hit) for hit in (*scan(settings.home, wanted), *ask(settings, wanted))]


def _subject(settings: Settings, tenant: str, subject: str) -> dict[str, Any]:
    from deploy.audit.subject import what_is_left

    return what_is_left(settings, tenant, subject)


def _hash(settings: Settings) -> str:
    from stores.database import connect
    from stores.statehash import state_hash
    from stores.vault import open_vault

    vault = open_vault(settings)
    try:
        with connect(settings.database, autocommit=True, application="obelus audit") as conn:
            return state_hash(conn, vault)
    finally:
        vault.close()


def _show(answer: dict[str, Any], as_json: bool) -> None:
    from deploy.cli.output import emit

    if as_json:
        emit(answer)
        return
    from rich.console import Console

    console = Console()
    console.print(f"drift: {answer['drift'] or 'none'}")
    for hit in answer["hits"]:
        console.print(f"found {hit['count']} times in {hit['store']}: {hit['file']}", markup=False)
    for name, value in answer.get("subject", {}).items():
        said = ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else value
        console.print(f"{name.replace('_', ' ')}: {said or 'none'}", markup=False)
    if "hash" in answer:
        console.print(f"hash: {answer['hash']}")
