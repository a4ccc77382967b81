"""What `obelus status` sees and how it shows it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from deploy import probe, runfile
from deploy.cli.counts import counts
from deploy.embedded.ports import is_open
from deploy.kept import RUNNING
from schemas.home import is_held
from schemas.settings import NoStack, Settings

Seen = dict[str, Any]


def observe(settings: Settings) -> Seen:
    """Ask everything that is there how it does.

    Raises:
        NoStack: no supervisor has this home.
    """
    run = runfile.read(settings.run_file)
    if run is None or not is_held(settings.home):
        raise NoStack(f"no stack runs in {settings.home}: start one with `obelus up`")
    lags = _lags(settings)
    return {
        "state": run.state,
        "home": str(settings.home),
        "api": run.addresses.get("api"),
        "parts": {name: _part(known) for name, known in run.parts.items()},
        "consumers": {name: _consumer(known, lags.get(name)) for name, known in run.consumers.items()},
        "counts": counts(settings),
    }


def _part(known: Seen) -> Seen:
    """Show a part; its address without the password, since this goes to screens and logs."""
    address = known.get("address", "")
    parsed = urlsplit(address if "://" in address else f"//{address}")
    shown = f"{parsed.hostname}:{parsed.port}" if parsed.port else address
    if parsed.scheme:
        shown = f"{parsed.scheme}://{shown}{parsed.path}"
    state = known.get("state")
    if state in (None, RUNNING):
        local = parsed.hostname in ("127.0.0.1", "localhost") and parsed.port
        answers = is_open(parsed.port) if local and parsed.port else None
        state = {True: RUNNING, False: "unreachable", None: "external"}[answers]
    return {**known, "state": state, "address": shown}


def _consumer(known: Seen, lag: int | None) -> Seen:
    port, state = known.get("health", 0), known.get("state", "stopped")
    if state == RUNNING and not probe.ready(port):
        state = "not ready"
    return {"pid": None, **known, "state": state, "lag": lag}


def _lags(settings: Settings) -> dict[str, int]:
    """Count what each consumer is behind, from positions and ends of the logs; nothing where a part is away."""
    from deploy.idle import Watch
    from schemas.errors import ObelusError

    try:
        with Watch(settings) as watch:
            watch.look()
            return watch.lag
    except ObelusError:
        return {}


def show(seen: Seen) -> None:
    """Print it for a person."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{seen['home']}[/bold] is {seen['state']}, API at {seen['api']}")
    for title in ("parts", "consumers"):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for column in ("name", "state", "pid", "address" if title == "parts" else "lag"):
            table.add_column(column)
        for name, one in seen[title].items():
            last = one.get("address" if title == "parts" else "lag")
            cells = (name, one["state"], one.get("pid"), last)
            table.add_row(*("-" if cell is None else str(cell) for cell in cells))
        console.print(table)
        for one in seen[title].values():
            if one.get("message"):
                console.print(one["message"], style="red", markup=False)
    console.print(f"counts: {_flat(seen['counts'])}", markup=False)


def _flat(numbers: Seen) -> str:
    words = []
    for name, value in numbers.items():
        inner = f"({_flat(value)})" if isinstance(value, dict) else str(value)
        words.append(f"{name} {inner}")
    return ", ".join(words) or "none"
