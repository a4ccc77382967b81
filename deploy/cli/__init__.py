"""The `obelus` command.

Every command module has `register(app)` and imports what a command needs inside its function:
all of it together takes 143 MB, and a consumer is started through here too.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

COMMANDS = (
    "stack",
    "operate",
    "topics",
    "publish",
    "wait",
    "recall",
    "control",
    "export",
    "dead_letters",
    "losses",
    "memories",
    "decisions",
    "lineage",
    "forget",
    "erasures",
    "receipts",
    "audit",
    "demo",
)
"""Modules of this package, in the order in which help shows them."""


def build() -> typer.Typer:
    """Make the application with every command."""
    import typer

    app = typer.Typer(
        name="obelus",
        help="Governed long-term memory for AI agents.",
        no_args_is_help=True,
        add_completion=False,
        # Local variables hold content, and a traceback would print them.
        pretty_exceptions_enable=False,
    )
    for name in COMMANDS:
        import_module(f"deploy.cli.{name}").register(app)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with the status that cli.md promises."""
    given = sys.argv[1:] if arguments is None else arguments
    from deploy.cli.failures import guarded

    if len(given) == 2 and given[0] == "run" and not given[1].startswith("-"):
        # A consumer needs none of the command line's own machinery in its memory.
        from deploy.cli.run import run

        raise SystemExit(guarded(lambda: run(given[1])))
    raise SystemExit(guarded(lambda: build()(args=given, standalone_mode=False)))
