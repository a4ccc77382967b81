"""Erases a subject's rows from PostgreSQL, and the subject's row down to its fence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from psycopg import sql

from schemas import datamap
from schemas.datamap import Entry
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.words import Property
from stores.database import Connection, translate, value

Link = Callable[[], Connection]
"""Gives an open connection in autocommit mode."""

# Above this one transaction would hold its locks and its undo for seconds; nobody can write
# under the handle any more, so the pieces need not be atomic together.
CHUNK = 10_000

_COUNT = "SELECT {name}, (SELECT count(*) FROM {table} WHERE handle = %(handle)s)"
_DELETE = (
    "DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE handle = %(handle)s LIMIT %(chunk)s))"
)


class TablesEraser:
    """Deletes the rows of a handle, table by table, in bounded chunks."""

    name = "postgres"
    version = "1"

    def __init__(self, erasing: Link, observing: Link) -> None:
        """Take one connection to erase by and another to look by."""
        self._erasing = erasing
        self._observing = observing
        self._entries = datamap.of(self.name)
        self._deletes = [_named(_DELETE, entry) for entry in self._entries]
        self._at_once = _at_once(self._deletes)
        self._count = " UNION ALL ".join(_named(_COUNT, entry) for entry in self._entries)

    def properties(self) -> Properties:
        """Rows are gone for every reader; their bytes stay in pages and log until the key is."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.SHREDDED})
        return Properties(can, can)

    def plan(self, scope: Scope) -> Plan:
        """Count the handle's rows in each table."""
        return Plan(scope, self._counts(scope))

    def erase(self, plan: Plan) -> None:
        """Delete until nothing is left, one transaction where it is small."""
        handle = plan.scope.handle
        if handle is None:
            return
        with translate():
            conn = self._erasing()
            if sum(plan.counts.values()) > CHUNK or not self._deleted_together(conn, handle):
                for query in self._deletes:
                    while conn.execute(query, {"handle": handle, "chunk": CHUNK}).rowcount == CHUNK:
                        pass

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Count again in another session."""
        counts = self._counts(scope)
        return [
            Observation(
                entry.name,
                counts[entry.name],
                frozenset() if counts[entry.name] else frozenset({Property.ABSENT}),
                "rows deleted by handle; counted again in another session",
            )
            for entry in self._entries
        ]

    def _deleted_together(self, conn: Connection, handle: bytes) -> bool:
        """Delete from every table in one statement; False where one had more than was counted."""
        most: int = value(conn, self._at_once, {"handle": handle, "chunk": CHUNK})
        return most < CHUNK

    def _counts(self, scope: Scope) -> dict[str, int]:
        if scope.handle is None:
            return dict.fromkeys((entry.name for entry in self._entries), 0)
        with translate():
            return dict(self._observing().execute(self._count, {"handle": scope.handle}).fetchall())


def _at_once(deletes: Sequence[str]) -> str:
    """One statement of all; its one value is the most rows that went from one table."""
    steps = ", ".join(f"d{number} AS ({delete} RETURNING 1)" for number, delete in enumerate(deletes))
    counts = ", ".join(f"(SELECT count(*) FROM d{number})" for number in range(len(deletes)))  # noqa: S608 - numbers
    return f"WITH {steps} SELECT greatest({counts})"


def _named(query: str, entry: Entry) -> str:
    names = {"name": sql.Literal(entry.name), "table": sql.Identifier(entry.place)}
    return sql.SQL(query).format(**names).as_string()


class SubjectsEraser:
    """The subject's own row: Block cuts it to reference, lock, epoch, consent and fence."""

    name = "subjects"
    version = "1"

    def __init__(self, observing: Link) -> None:
        """Take the connection to look by; Block has done the rest in its transaction."""
        self._observing = observing

    def properties(self) -> Properties:
        """The sealed name goes with the handle."""
        can = frozenset({Property.FENCED, Property.ABSENT, Property.SHREDDED})
        return Properties(can, can)

    def plan(self, scope: Scope) -> Plan:
        """One row where the subject lives or lived."""
        return Plan(scope, {"postgres.subjects": int(scope.handle is not None)})

    def erase(self, plan: Plan) -> None:
        """Nothing to do: handle and sealed name went with Block."""

    def observe(self, scope: Scope) -> Sequence[Observation]:
        """Look for the handle, whatever row it may stand in."""
        with translate():
            row = (
                self._observing().execute("SELECT count(*) FROM subjects WHERE handle = %s", (scope.handle,)).fetchone()
            )
        left = int(row[0]) if row else 0
        return [
            Observation(
                "postgres.subjects",
                left,
                frozenset() if left else frozenset({Property.ABSENT}),
                "handle and sealed name cleared by the block; no row has the handle",
            )
        ]
