"""H8: deleted points are `compacted` only once the index has been seen without the segments that held them."""

from __future__ import annotations

import json
import os
import time
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.eraser import Scope
from schemas.settings import Settings
from schemas.words import MemoryType, Property, SelectorKind, Sensitivity, Visibility
from stores.database import connect
from stores.erasers.points import PointsEraser
from stores.vector_points import Point
from stores.vector_segments import Look
from stores.vectors import VectorIndex
from streams.topics import apply
from tests.integration.test_erasure import Hand, forget
from tests.seeding import Seeded, seed

pytestmark = pytest.mark.integration

OTHERS = 200
"""More than a server's smallest segment that it rebuilds."""


@pytest.fixture
def hand(settings: Settings):
    apply(settings)
    found = Hand(settings.model_copy(update={"turns_log": "shared"}))
    found.parts.index.ensure(384)
    yield found
    found.close()


def qdrant_line(envelope: bytes) -> dict[str, Any]:
    statement = json.loads(b64decode(json.loads(envelope)["payload"]))
    return next(line for line in statement["predicate"]["lines"] if line["entry"] == "qdrant.memories")


def on_disk(folder: Path, handle: bytes) -> int:
    needle = handle.hex().encode()
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.read_bytes().count(needle) if path.is_file() else 0
        except FileNotFoundError:  # a segment on its way out
            continue
    return found


def test_compacted_follows_the_rebuild_and_the_bytes_are_gone(hand: Hand, stack: Any) -> None:
    folder = Path(os.environ.get("OBELUS_TEST_QDRANT_FILES") or stack.settings.home / "vectors")
    gone, stays = seed(hand.settings, "t1", "comp", 5), seed(hand.settings, "t1", "comp2", OTHERS)
    assert on_disk(folder, gone.handle) and on_disk(folder, stays.handle)
    erasure = hand.send(forget("comp"))
    assert hand.advance(erasure) == "verified"
    [(first, _)] = hand.receipts(erasure)
    line = qdrant_line(first)
    assert line["proven"] == ["absent", "fenced", "spoiled"] and "compacted" in line["target"]
    until = time.monotonic() + 90
    while hand.advance(erasure) != "final":
        assert time.monotonic() < until
        time.sleep(0.2)
    newest = hand.receipts(erasure)[-1][0]
    assert qdrant_line(newest)["proven"] == ["absent", "compacted", "fenced", "spoiled"]
    assert on_disk(folder, gone.handle) == 0 < on_disk(folder, stays.handle)
    assert hand.parts.index.count(stays.handle) == OTHERS


def test_what_a_server_will_not_rebuild_does_not_keep_an_erasure_open(hand: Hand) -> None:
    """Nothing more is proven, so only the state says that nothing more is waited for."""
    server = Server(hand.parts.index)
    server.say(stuck=frozenset("a"))
    hand.parts.index = server
    seed(hand.settings, "t1", "small", 3)
    erasure = hand.send(forget("small"))
    assert hand.advance(erasure) == "verified"
    until = time.monotonic() + 30
    while hand.advance(erasure) != "final":
        assert time.monotonic() < until
        time.sleep(0.2)
    line = qdrant_line(hand.receipts(erasure)[-1][0])
    assert line["proven"] == line["target"] == ["absent", "fenced", "spoiled"]


class Server:
    """An index whose telemetry is written by the test, as a server with several segments would tell it."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self.turned = 0
        self.told = Look(frozenset("ab"), frozenset("a"), frozenset(), busy=False, hidden=False, embedded=False)

    def look(self) -> Look:
        return self.told

    def turn_log(self) -> bool:
        self.turned += 1
        return True

    def say(self, **what: Any) -> None:
        self.told = replace(self.told, **what)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


class Watched:
    """A points eraser on a subject whose erasure is in the book."""

    def __init__(self, settings: Settings, gone: Seeded, state: str = "verified") -> None:
        self.conn = connect(settings.database, autocommit=True)
        self.server = Server(VectorIndex(settings))
        self.eraser = PointsEraser(self.server, lambda: self.conn, lambda: self.conn)  # type: ignore[arg-type]
        self.scope = Scope(gone.ref, SelectorKind.SUBJECT, gone.tenant_ref, gone.ref, handle=gone.handle, epoch=1)
        self.conn.execute(
            "INSERT INTO erasures (id, tenant, kind, selector, state, requested_at, deadline, log, part, pos)"
            " VALUES (%s, 't', 'subject', 's', %s, now(), now(), 1, 0, 0)",
            (gone.ref, state),
        )

    def erase(self) -> None:
        self.eraser.erase(self.eraser.plan(self.scope))

    def seen(self) -> tuple[bool, bool]:
        """Whether it is proven, and whether it is waited for."""
        [points, _] = self.eraser.observe(self.scope)
        return Property.COMPACTED in points.proven, Property.COMPACTED in points.targets


@pytest.fixture
def watched(fresh_settings: Settings):
    index = VectorIndex(fresh_settings)
    index.ensure(384)
    index.close()
    found = Watched(fresh_settings, seed(fresh_settings, "t1", "sara", 3))
    yield found
    found.server._index.close()
    found.conn.close()


def test_only_the_segments_that_held_them_need_to_go(watched: Watched) -> None:
    watched.erase()
    assert watched.seen() == (False, True) and watched.server.turned == 1
    # Another segment's rebuild says nothing of ours.
    watched.server.say(names=frozenset("ac"), dirty=frozenset("a"))
    assert watched.seen() == (False, True)
    watched.server.say(names=frozenset("bd"), dirty=frozenset("b"), busy=True)
    assert watched.seen() == (False, True), "while a rebuild is under way a segment tells less than it holds"
    watched.server.say(busy=False)
    assert watched.seen() == (True, True)
    watched.erase()
    assert watched.server.turned == 1, "one note is enough"


def test_a_log_that_was_turned_over_is_given_time_to_be_cut(watched: Watched) -> None:
    watched.erase()
    watched.server.say(names=frozenset("b"), dirty=frozenset(), log_seconds=60.0)
    assert watched.seen() == (False, True)
    watched.conn.execute("UPDATE erasures SET segments_at = segments_at - interval '61 s'")
    assert watched.seen() == (True, True)


def test_nothing_is_noted_before_all_is_gone_or_while_the_server_is_busy(watched: Watched) -> None:
    watched.conn.execute("UPDATE erasures SET state = 'erasing'")
    watched.erase()
    watched.server.say(names=frozenset("c"), dirty=frozenset())
    assert watched.seen() == (False, True)
    watched.conn.execute("UPDATE erasures SET state = 'verified'")
    watched.server.say(busy=True)
    watched.erase()
    assert watched.seen() == (False, True)
    watched.server.say(busy=False)
    watched.erase()
    assert watched.seen() == (True, True)


def put_back(settings: Settings, scope: Scope) -> None:
    """A late write of a client that had timed out: the ledger knows nothing of it."""
    index = VectorIndex(settings)
    point = Point(
        b"p" * 16, b"m" * 16, 1, scope.tenant, scope.handle or b"", 1, [],
        MemoryType.FACT, Sensitivity.NONE, Visibility.PRIVATE,
    )  # fmt: skip
    index.upsert([point], np.eye(1, 384, dtype=np.float32))
    index.close()


def test_what_comes_back_starts_the_watch_anew(watched: Watched, fresh_settings: Settings) -> None:
    watched.erase()
    watched.server.say(names=frozenset("b"), dirty=frozenset())
    assert watched.seen() == (True, True)
    put_back(fresh_settings, watched.scope)
    watched.server.say(names=frozenset("bc"), dirty=frozenset("c"))
    watched.erase()
    assert watched.seen() == (False, True)


def test_a_segment_too_small_for_a_rebuild_is_not_waited_for(watched: Watched) -> None:
    watched.server.say(stuck=frozenset("a"))
    watched.erase()
    assert watched.seen() == (False, False)


def test_segments_of_other_servers_are_never_called_compacted(watched: Watched) -> None:
    watched.server.say(hidden=True, dirty=frozenset())
    watched.erase()
    assert watched.seen() == (False, False)
