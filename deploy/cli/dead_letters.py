"""`obelus dead-letters` and `obelus redrive`: positions that were given up, and another try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumers.deadletters import Answer, Listed
    from schemas.settings import Settings

_POLL_S = 0.2


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command("dead-letters")(dead_letters)
    app.command()(redrive)


def dead_letters(
    show: Annotated[int | None, typer.Option(help="Read this one's record from the log.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """List positions that were given up, with the reason; exit status 1 where --show finds none."""
    from consumers.deadletters import listed
    from deploy.cli.output import emit
    from schemas.settings import Settings
    from stores.database import connect

    settings = Settings.load(needs=("database",) if show is None else ("database", "kafka"))
    with connect(settings.database, application="obelus dead-letters") as tx:
        found = [(letter, _described(letter)) for letter in listed(tx, show)]
    if show is not None:
        for letter, description in found:
            description["record"] = _record(settings, letter)
    descriptions = [description for _, description in found]
    if as_json:
        emit({"dead_letters": descriptions})
    else:
        _print(descriptions)
    if show is not None and not found:
        raise typer.Exit(1)


def _described(letter: Listed) -> dict[str, Any]:
    return {
        "id": letter.id,
        "topic": letter.topic,
        "partition": letter.part,
        "offset": letter.pos,
        "reason": letter.reason,
        "at": letter.at.isoformat(),
        "consumer": letter.consumer,
        "state": letter.state,
    }


def _record(settings: Settings, letter: Listed) -> dict[str, Any] | None:
    """Read what lies at the position: the only place where a dead letter's content is shown."""
    from streams.codec import headers_of
    from streams.reading import Reader

    with Reader(settings) as reader:
        item = reader.at(letter.topic, letter.part, letter.pos)
    if item is None:
        return None
    key, value = item.key() or b"", item.value() or b""
    return {
        "key": key.decode("utf-8", "replace"),
        "headers": headers_of(item.headers()),
        "bytes": len(value),
        "value": value[:65536].decode("utf-8", "replace"),
    }


def _print(descriptions: Sequence[dict[str, Any]]) -> None:
    if not descriptions:
        print("no dead letters")
    for one in descriptions:
        place = f"{one['topic']}/{one['partition']}@{one['offset']}"
        print(f"{one['id']:>4}  {one['reason']:<17} {place:<24} {one['consumer']}, {one['state']}, {one['at'][:19]}")
        if "record" in one:
            print(one["record"]["value"] if one["record"] else "the log no longer has this record")


def redrive(
    ids: Annotated[list[int], typer.Argument(help="Ids as `dead-letters` lists them.")],
    discard: Annotated[bool, typer.Option("--discard", help="Give them up for good instead.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the consumers.")] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Have consumers read these positions again; exit status 1 where one of them is still given up.

    An open dead letter keeps its record in the log, and an erasure from cutting the log there: what cannot be
    mended is discarded.
    """
    from deploy.cli.output import emit, note
    from schemas.settings import Settings

    settings = Settings.load(needs=("database",))
    answers = _discarded(settings, ids) if discard else _answers(settings, ids, timeout)
    outcomes = {one: "unknown" for one in ids} | {one.id: _outcome(one) for one in answers}
    if as_json:
        emit({"redriven": [{"id": one, "outcome": outcome} for one, outcome in outcomes.items()]})
    else:
        note("\n".join(f"{one}: {outcome}" for one, outcome in outcomes.items()))
    wanted = "discarded" if discard else "redriven"
    if any(outcome != wanted for outcome in outcomes.values()):
        raise typer.Exit(1)


def _discarded(settings: Settings, ids: list[int]) -> list[Answer]:
    from consumers.deadletters import answers, discard
    from stores.database import connect

    with connect(settings.database, autocommit=True, application="obelus redrive") as connection:
        discard(connection, ids)
        return answers(connection, ids)


def _answers(settings: Settings, ids: list[int], timeout: float) -> list[Answer]:
    import time

    from consumers.deadletters import answers, ask
    from stores.database import connect

    deadline = time.monotonic() + timeout
    with connect(settings.database, autocommit=True, application="obelus redrive") as connection:
        ask(connection, ids)
        found = answers(connection, ids)
        while any(one.waiting for one in found) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            found = answers(connection, ids)
    return found


def _outcome(answer: Answer) -> str:
    if answer.waiting:
        return "waiting: does its consumer run?"
    return answer.reason if answer.state == "open" else answer.state
