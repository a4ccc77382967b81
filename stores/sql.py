"""SQL lives in files beside the code that runs it; a file is a list of named blocks.

A block starts with ``-- name: word`` and runs to the next one. Comments stay in the text that is
sent: they show up in the server's log and statistics, which is where a slow query is looked for.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^-- name: *(\w+)[ \t]*$", re.MULTILINE)


class Queries:
    """The named blocks of one file, as attributes."""

    def __init__(self, blocks: dict[str, str], origin: str) -> None:
        """Keep the blocks and where they came from."""
        self._blocks = blocks
        self._origin = origin

    def __getattr__(self, name: str) -> str:
        """Return one block.

        Raises:
            AttributeError: the file has no block of that name.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._blocks[name]
        except KeyError:
            raise AttributeError(f"{self._origin} has no query named {name}") from None

    def names(self) -> list[str]:
        """Return the names of all blocks, in the file's order."""
        return list(self._blocks)


def parse(text: str, origin: str) -> Queries:
    """Split a file into its named blocks.

    Raises:
        ValueError: no block, a block without SQL, or a name used twice.
    """
    _, *pieces = _HEADING.split(text)
    blocks: dict[str, str] = {}
    for name, body in zip(pieces[::2], pieces[1::2], strict=True):
        if name in blocks or not body.strip():
            raise ValueError(f"{origin}: query {name} is empty or named twice")
        blocks[name] = body.strip().removesuffix(";")
    if not blocks:
        raise ValueError(f"{origin} names no query")
    return Queries(blocks, origin)


@cache
def load(package: str, file: str) -> Queries:
    """Read the SQL file ``file`` that lies in ``package`` (dotted name).

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is malformed.
    """
    return parse(files(package).joinpath(file).read_text("utf-8"), f"{package}/{file}")
