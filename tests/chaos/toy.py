"""A consumer with tables of its own, whose effects show every loss and every repetition.

From `memory.turns` it adds to a sum for each subject, which is not idempotent, keeps a row for each
position, publishes a candidate event for each, and settles each into a third table, idempotently.
Text decides what a record meets: `poison` is refused, `bug` meets a fault of the program, `flaky`
passes at the third attempt, `bad` is a dead letter by decision, unless `TOY_FORGIVES` is set.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from consumers.worker import BaseConsumer, DeadLetter, Span, run
from schemas.errors import InvalidEvent, PermanentError, SubjectMoved, TransientError
from schemas.events import CandidateEvent, Turn
from schemas.settings import Settings
from schemas.topics import CANDIDATES, TURNS
from schemas.words import MemoryType, SourceType
from stores.database import connect
from streams.codec import Message, Position, Record, decode, message

TABLES = """
CREATE TABLE IF NOT EXISTS toy_rows (
    message text, subject text, log smallint, part int, pos bigint, PRIMARY KEY (log, part, pos));
CREATE TABLE IF NOT EXISTS toy_sums (subject text PRIMARY KEY, n int, total bigint);
CREATE TABLE IF NOT EXISTS toy_settled (message text PRIMARY KEY);
CREATE TABLE IF NOT EXISTS toy_ticks (n int);
"""


@dataclass
class Result:
    turns: list[tuple[Position, Turn]] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {"stored": len(self.turns)}


class Toy(BaseConsumer[Result, None, Result]):
    name = "toy"
    topics = (TURNS,)
    tick_seconds = 0.5

    def __init__(self, settings: Settings, prepare_seconds: float = 0.0) -> None:
        self._settings = settings
        self._prepare_seconds = prepare_seconds
        self._tries: dict[Position, int] = {}

    def prepare(self, batch: Sequence[Record]) -> Result:
        time.sleep(self._prepare_seconds)
        result = Result()
        for item in batch:
            try:
                event = decode(item)
            except InvalidEvent as error:
                result.dead_letters.append(DeadLetter(item.position, error.reason))
                continue
            assert isinstance(event, Turn)
            self._meet(item.position, event.text or "")
            result.turns.append((item.position, event))
        return result

    def _meet(self, position: Position, text: str) -> None:
        if text == "poison":
            raise PermanentError("poisoned")
        if text == "bug":
            raise KeyError("my secret text")
        if text == "flaky" and self._tries.setdefault(position, 0) < 2:
            self._tries[position] += 1
            raise TransientError("flaky part")

    def load(self, tx: Any, ready: Result) -> None:
        for position, turn in ready.turns:
            if turn.text == "moved" and self._tries.setdefault(position, 0) < 2:
                self._tries[position] += 1
                raise SubjectMoved

    def decide(self, ready: Result, state: None) -> Result:
        refused = None if os.environ.get("TOY_FORGIVES") else "bad"
        bad = [DeadLetter(at, "bad") for at, turn in ready.turns if turn.text == refused]
        good = [(at, turn) for at, turn in ready.turns if turn.text != refused]
        return Result(good, ready.dead_letters + bad)

    def store(self, tx: Any, result: Result) -> None:
        if not result.turns:
            return
        rows = [(turn.message_id, turn.subject, *at) for at, turn in result.turns]
        sums: dict[str, list[int]] = {}
        for at, turn in result.turns:
            sums.setdefault(turn.subject, []).append(at.pos)
        with tx.cursor() as cursor, cursor.copy("COPY toy_rows FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        tx.execute(
            "INSERT INTO toy_sums SELECT * FROM unnest(%s::text[], %s::int[], %s::bigint[])"
            " ON CONFLICT (subject) DO UPDATE"
            " SET n = toy_sums.n + EXCLUDED.n, total = toy_sums.total + EXCLUDED.total",
            (list(sums), [len(v) for v in sums.values()], [sum(v) for v in sums.values()]),
        )

    def publish(self, result: Result) -> list[Message]:
        return [_said(turn.message_id) for _, turn in result.turns]

    def republish(self, tx: Any, spans: Sequence[Span]) -> list[Message]:
        found: list[Message] = []
        for span in spans:
            rows = tx.execute(
                "SELECT message FROM toy_rows WHERE log = %s AND part = %s AND pos >= %s AND pos < %s", span
            )
            found += [_said(name) for (name,) in rows]
        return found

    def settle(self, result: Result) -> None:
        with connect(self._settings.database, autocommit=True) as connection:
            _settle(connection, [turn.message_id for _, turn in result.turns])

    def tick(self, tx: Any) -> list[Message]:
        rows = tx.execute("SELECT message FROM toy_rows EXCEPT SELECT message FROM toy_settled").fetchall()
        _settle(tx, [name for (name,) in rows])
        count = tx.execute("DELETE FROM toy_ticks RETURNING n").fetchall()
        return [_said(f"tick{n}") for (n,) in count]


def _settle(connection: Any, names: list[str]) -> None:
    connection.execute("INSERT INTO toy_settled SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING", (names,))


def _said(name: str) -> Message:
    event = CandidateEvent(
        id="0" * 32, handle="0" * 32, epoch=1, type=MemoryType.FACT, source_type=SourceType.USER_STATED
    )
    return message(CANDIDATES, name, event, name)


if __name__ == "__main__":
    settings = Settings.load(["kafka", "database"])
    with connect(settings.database) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(42)")
        for statement in filter(str.strip, TABLES.split(";")):
            connection.execute(statement)
    sys.exit(run(Toy(settings, float(sys.argv[1]) if len(sys.argv) > 1 else 0.0), settings))
