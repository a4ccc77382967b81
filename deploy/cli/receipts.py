"""`obelus receipt show` and `obelus receipt verify`; the latter needs no stack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    receipt = typer.Typer(help="Signed receipts of erasures.", no_args_is_help=True)
    receipt.command()(show)
    receipt.command()(verify)
    app.add_typer(receipt, name="receipt")


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="Erasure id or request id.")],
    tenant: Annotated[str, typer.Option(help="Tenant of the request.")] = "default",
    bundle: Annotated[Path | None, typer.Option(help="Folder for all that a check needs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Show a receipt; with --bundle also its evidence, predecessors and public keys."""
    import sys

    from schemas.settings import Settings
    from stores import erasures
    from stores.database import connect
    from stores.vault import open_vault

    settings = Settings.load(("database", "vault"))
    vault = open_vault(settings)
    erasure = erasures.erasure_id(vault, tenant, name)
    vault.close()
    with connect(settings.database, autocommit=True, application="obelus receipt") as conn:
        kept = erasures.newest_receipt(conn, erasure) if erasure else None
        if kept is None:
            print("obelus: there is no receipt of this id", file=sys.stderr)
            raise typer.Exit(1)
        if bundle is not None:
            _write(bundle, settings, kept, list(erasures.chain(conn, kept)))
    if as_json:
        sys.stdout.buffer.write(bytes(kept.envelope) + b"\n")
        sys.stdout.buffer.flush()
    else:
        _tell(bytes(kept.envelope))


def _write(bundle: Path, settings: Any, kept: Any, chain: list[tuple[int, bytes]]) -> None:
    import orjson

    from policy.verification import load_keys
    from stores.signing import public_keys_file

    before = bundle / "chain"
    before.mkdir(parents=True, exist_ok=True)
    (bundle / "receipt.json").write_bytes(kept.envelope)
    (bundle / "evidence.json").write_bytes(kept.evidence)
    for sequence, envelope in chain:
        if sequence != kept.sequence:
            (before / f"{sequence:08}.json").write_bytes(envelope)
    keys = load_keys(public_keys_file(settings).read_bytes())
    rows = [{"keyid": key.keyid, **key.to_dict()} for key in keys]
    (bundle / "keys.json").write_bytes(orjson.dumps({"keys": rows}, option=orjson.OPT_INDENT_2))


def _tell(envelope: bytes) -> None:
    from base64 import b64decode

    import orjson
    from rich.console import Console

    statement = orjson.loads(b64decode(orjson.loads(envelope)["payload"]))
    said = statement["predicate"]
    console = Console()
    console.print(f"receipt {said['sequence']} of erasure {said['erasureId']} · [bold]{said['state']}[/bold]")
    console.print(f"issued {said['issuedAt']}, blocked {said['blockedAt']}")
    console.print(_table(said["lines"]))
    dates = [line["expiresAt"] for line in said["lines"] if "expiresAt" in line]
    if dates:
        held = sorted({line["reason"] for line in said["lines"] if "expiresAt" in line and line.get("reason")})
        why = f"; held back by {', '.join(held)}" if held else ""
        console.print(f"what expires is gone by {max(dates)}{why}", markup=False)


def _table(lines: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    from policy.summary import by_store

    table = Table(box=None, pad_edge=False)
    for name in ("store", "status", "proven", "before", "after", "lines"):
        table.add_column(name)
    for store, found in by_store(lines).items():
        proven = ", ".join(found["proven"]) or "-"
        count = sum(line["store"] == store for line in lines)
        cells = (store, found["status"], proven, found["before"], found["after"], count)
        table.add_row(*map(str, cells))
    return table


def verify(
    file: Annotated[Path, typer.Argument(help="The envelope.")],
    keys: Annotated[Path | None, typer.Option(help="Public keys, got separately.")] = None,
    evidence: Annotated[Path | None, typer.Option(help="The evidence bundle.")] = None,
    chain: Annotated[Path | None, typer.Option(help="Folder of receipts before it.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose it should be.")] = None,
    subject: Annotated[str | None, typer.Option(help="Whose it should be.")] = None,
    nonce: Annotated[str | None, typer.Option(help="The nonce drawn with the request.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Check a receipt offline; keys are never taken from the envelope itself."""
    from policy.verification import Claim, load_keys
    from policy.verification import verify as check

    if subject is not None and nonce is None:
        raise typer.BadParameter("--subject needs --nonce: a receipt names nobody without it")
    claim = Claim(tenant or "default", subject or "", nonce) if nonce is not None else None
    try:
        trusted = load_keys(_keys(keys).read_bytes())
    except ValueError:
        raise typer.BadParameter("--keys holds no public keys") from None
    verdict = check(
        _read(file),
        trusted,
        evidence=_read(evidence) if evidence else None,
        chain=_envelopes(chain) if chain else None,
        claim=claim,
    )
    _answer(verdict, as_json)
    raise typer.Exit(0 if verdict.valid else 1)


def _envelopes(folder: Path) -> list[bytes]:
    """Every envelope in a folder; a bundle's evidence and keys lie there too and are none."""
    found = [_read(path) for path in sorted(folder.rglob("*.json"))]
    return [data for data in found if b'"payloadType"' in data]


def _keys(given: Path | None) -> Path:
    """The keys named, else those of this home, which the stack made."""
    from schemas.settings import Settings
    from stores.signing import public_keys_file

    path = given or public_keys_file(Settings.environment())
    if not path.is_file():
        raise typer.BadParameter(f"no public keys in {path}: name them with --keys")
    return path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}") from None


def _answer(verdict: Any, as_json: bool) -> None:
    if as_json:
        from deploy.cli.output import emit

        emit(verdict.as_json())
        return
    from rich.console import Console

    console = Console()
    if verdict.valid:
        console.print("[bold green]valid[/bold green]")
    else:
        console.print(f"[bold red]not valid[/bold red]: {', '.join(verdict.reasons)}")
    if verdict.unchecked:
        console.print(f"not checked: {', '.join(verdict.unchecked)}")
    for store, found in verdict.as_json()["stores"].items():
        console.print(f"  {store}: {found['status']} ({', '.join(found['proven']) or 'nothing proven'})")
