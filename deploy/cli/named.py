"""Natural ids as options: refused here where they are outside the grammar, so that nothing else looks them up."""

from __future__ import annotations

import typer


def an_id(text: str | None) -> str | None:
    """Return an option's id.

    Raises:
        typer.BadParameter: it is none.
    """
    from schemas.ids import check_id

    try:
        return None if text is None else check_id(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
