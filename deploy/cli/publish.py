"""`obelus publish FILE`: turns to the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(publish)


def publish(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines, or - for standard input.")],
    tenant: Annotated[str, typer.Option(help="Tenant of lines that name none.")] = "default",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Publish turns and controls to memory.turns; publishing a file again adds nothing."""
    from deploy.cli.output import emit, note
    from deploy.lines import Lines
    from schemas.errors import Refused
    from schemas.settings import Settings
    from streams.producer import Publisher

    settings = Settings.load(("kafka",))
    publisher = Publisher(settings, "publish")
    with _opened(file) as lines, _progress() as step:
        try:
            count = publisher.send(step(Lines(tenant).messages(lines)))
        except Refused as error:
            note(f"obelus: {error}; nothing after it was published, and publishing again is safe")
            raise typer.Exit(2) from None
        finally:
            publisher.close()
    if as_json:
        emit({"published": count})
    else:
        print(f"{count} published")


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    import sys

    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(file, "rb") as lines:
            yield lines
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from None


@contextmanager
def _progress() -> Iterator[Any]:
    """Count on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("published"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def step(items: Any) -> Iterator[Any]:
            for item in items:
                yield item
                bar.advance(task)

        yield step
