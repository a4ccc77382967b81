"""One suite that every eraser must pass, faults of its store included (design, section 4)."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from redis.exceptions import TimeoutError as RedisTimeout

from consumers.purger import book
from schemas import datamap
from schemas.eraser import Eraser, Observation, Plan, Scope
from schemas.errors import ObelusError, PartUnavailable, TransientError, UnknownOutcome
from schemas.settings import Settings
from schemas.words import Property, SelectorKind
from stores.cache import keep, redis_client, window_key
from stores.database import connect, translate
from stores.erasers.cache import CacheEraser
from stores.erasers.keys import KeysEraser
from stores.erasers.points import PointsEraser
from stores.erasers.tables import SubjectsEraser, TablesEraser
from stores.erasers.windows import WindowsEraser
from stores.vault import open_vault
from stores.vectors import VectorIndex
from tests.contract.faults import FAULTS, Faulty
from tests.seeding import NOW, Seeded, seed

pytestmark = [pytest.mark.contract, pytest.mark.integration]


@pytest.fixture(autouse=True)
def _closing():
    """Closes what the test opened, in whatever way it ends."""
    yield
    while OPENED:
        OPENED.pop().close()


OPENED: list[Any] = []


def opened(thing: Any) -> Any:
    OPENED.append(thing)
    return thing


def linked(settings: Settings) -> Any:
    return opened(connect(settings.database, autocommit=True))


def scope_of(seeded: Seeded) -> Scope:
    return Scope(
        erasure=b"e" * 16,
        kind=SelectorKind.SUBJECT,
        tenant=seeded.tenant_ref,
        subject=seeded.ref,
        handle=seeded.handle,
        epoch=1,
        blocked=True,
    )


class EraserContract:
    """Subclasses say how their eraser is made, with or without a fault in its way.

    What a line must prove follows from what the eraser declares: `expected`.
    """

    eraser: str
    """Its name in the data map."""
    raises = True
    """False where a lost or refused answer is no error of the eraser's: its line stays open."""

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        raise NotImplementedError

    @pytest.fixture
    def gone(self, settings: Settings) -> Seeded:
        return seed(settings, "t1", secrets.token_hex(4), 7)

    @pytest.fixture
    def stays(self, settings: Settings) -> Seeded:
        return seed(settings, "t1", secrets.token_hex(4), 3)

    def scope(self, seeded: Any) -> Scope:
        return scope_of(seeded)

    def left(self, settings: Settings, seeded: Seeded) -> int:
        eraser, _ = self.make(settings)
        return sum(seen.remaining for seen in eraser.observe(self.scope(seeded)))

    def expected(self, eraser: Eraser, seen: Observation) -> frozenset[Property]:
        """What a line with nothing left must show: of its targets those that asking the store again can show.

        ``fenced`` is Block's to prove, ``shredded`` and ``spoiled`` the key's, and ``compacted`` rises later.
        """
        declared = eraser.properties()
        assert declared.target <= declared.can and seen.proven <= declared.can
        return (datamap.BY_NAME[seen.entry].target | seen.targets) & declared.target & {Property.ABSENT}

    def test_it_answers_for_exactly_its_entries(self, settings: Settings, gone: Seeded) -> None:
        eraser, _ = self.make(settings)
        assert eraser.name == self.eraser
        names = {entry.name for entry in datamap.of(eraser.name)}
        assert names and set(eraser.plan(self.scope(gone)).counts) == names
        assert {seen.entry for seen in eraser.observe(self.scope(gone))} == names

    def test_a_plan_counts_and_changes_nothing(self, settings: Settings, gone: Seeded) -> None:
        eraser, _ = self.make(settings)
        first = eraser.plan(self.scope(gone)).counts
        assert eraser.plan(self.scope(gone)).counts == first
        assert sum(first.values()) == self.left(settings, gone) > 0

    def test_all_of_the_one_and_nothing_of_the_other(self, settings: Settings, gone: Seeded, stays: Seeded) -> None:
        eraser, _ = self.make(settings)
        before = self.left(settings, stays)
        eraser.erase(eraser.plan(self.scope(gone)))
        for seen in eraser.observe(self.scope(gone)):
            assert seen.remaining == 0 and self.expected(eraser, seen) <= seen.proven
        assert self.left(settings, stays) == before > 0

    def test_again_is_no_harm(self, settings: Settings, gone: Seeded) -> None:
        eraser, _ = self.make(settings)
        plan = eraser.plan(self.scope(gone))
        eraser.erase(plan)
        eraser.erase(plan)
        eraser.erase(eraser.plan(self.scope(gone)))
        assert self.left(settings, gone) == 0

    def test_what_is_there_is_not_called_absent(self, settings: Settings, gone: Seeded) -> None:
        eraser, _ = self.make(settings)
        for seen in eraser.observe(self.scope(gone)):
            expected = self.expected(eraser, seen)
            assert expected <= seen.proven if seen.remaining == 0 else not expected & seen.proven

    def test_a_handle_nobody_ever_had(self, settings: Settings) -> None:
        eraser, _ = self.make(settings)
        scope = Scope(b"", SelectorKind.SUBJECT, b"", b"r" * 16, handle=None, blocked=True)
        eraser.erase(eraser.plan(scope))
        assert all(seen.remaining == 0 for seen in eraser.observe(scope))

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_is_told_or_survived_and_then_repaired(
        self, settings: Settings, gone: Seeded, stays: Seeded, fault: str
    ) -> None:
        others = self.left(settings, stays)
        eraser, proxy = self.make(settings, fault)
        failed = False
        try:
            eraser.erase(eraser.plan(self.scope(gone)))
        except (TransientError, UnknownOutcome):
            failed = True
        assert proxy is not None and proxy.happened
        if fault in ("lost", "refused"):
            assert failed if self.raises else self.left(settings, gone) > 0
        if fault == "pretended":
            # Nothing may be inferred from an answer: either it noticed, or observation shows it.
            assert failed or self.left(settings, gone) > 0
        if fault in ("twice", "delayed"):
            assert not failed and self.left(settings, gone) == 0
        honest, _ = self.make(settings)
        honest.erase(honest.plan(self.scope(gone)))
        assert self.left(settings, gone) == 0 and self.left(settings, stays) == others


class _Done:
    rowcount = 0

    def fetchone(self) -> tuple[int]:
        return (0,)


def _starts(words: str | tuple[str, ...], name: str, args: tuple[Any, ...]) -> bool:
    if name != "execute":
        return False
    text = args[0] if isinstance(args[0], str) else args[0].as_string(None)
    return text.lstrip().startswith(words)


class TestTables(EraserContract):
    eraser = "postgres"

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        conn: Any = linked(settings)
        proxy = None
        if fault:
            proxy = conn = Faulty(
                conn, partial(_starts, ("WITH", "DELETE")), fault, psycopg.OperationalError, pretended=_Done()
            )
        observing = linked(settings)
        return TablesEraser(lambda: conn, lambda: observing), proxy


class Blocking(SubjectsEraser):
    """Block takes handle and name away in its own transaction; here it is played beside the eraser that looks."""

    def __init__(self, conn: Any, observing: Any) -> None:
        super().__init__(lambda: observing)
        self._conn = conn

    def erase(self, plan: Plan) -> None:
        with translate():
            self._conn.execute(book.SQL.block_subject, {"ref": plan.scope.subject, "fence": Jsonb({}), "at": NOW})


class TestSubjects(EraserContract):
    eraser = "subjects"

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        conn: Any = linked(settings)
        proxy = None
        if fault:
            proxy = conn = Faulty(conn, partial(_starts, "UPDATE"), fault, psycopg.OperationalError, pretended=_Done())
        return Blocking(conn, linked(settings)), proxy


class TestPoints(EraserContract):
    eraser = "vectors"

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        index: Any = opened(VectorIndex(settings))
        proxy = None
        if fault:
            wrong = UnknownOutcome if fault == "lost" else PartUnavailable
            proxy = index = Faulty(index, ("delete", "delete_scope"), fault, wrong)
        conn = linked(settings)
        return PointsEraser(index, lambda: conn, lambda: conn), proxy

    def test_an_open_intent_is_waited_for(self, settings: Settings, gone: Seeded) -> None:
        eraser, _ = self.make(settings)
        with connect(settings.database, autocommit=True) as conn:
            conn.execute(
                "UPDATE vectors SET state = 'intent', lease_until = now() + interval '1 minute' WHERE point = %s",
                (gone.points[0],),
            )
            with pytest.raises(TransientError):
                eraser.erase(eraser.plan(scope_of(gone)))
            assert self.left(settings, gone) > 0
            conn.execute("UPDATE vectors SET lease_until = now() - interval '1 second'")
        eraser.erase(eraser.plan(scope_of(gone)))
        assert self.left(settings, gone) == 0

    def test_a_point_that_the_ledger_does_not_know_goes_too(self, settings: Settings, gone: Seeded) -> None:
        with connect(settings.database, autocommit=True) as conn:
            conn.execute("DELETE FROM vectors WHERE point = %s", (gone.points[0],))
        eraser, _ = self.make(settings)
        eraser.erase(eraser.plan(scope_of(gone)))
        assert self.left(settings, gone) == 0


class TestCache(EraserContract):
    eraser = "redis"

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        client: Any = opened(redis_client(settings))
        proxy = None
        if fault:
            proxy = client = Faulty(client, ("delete",), fault, RedisTimeout, pretended=1)
        conn = linked(settings)
        return WindowsEraser(client, lambda: conn), proxy

    def test_what_was_never_noted_is_left_to_the_sweep(self, settings: Settings, gone: Seeded) -> None:
        client = opened(redis_client(settings))
        planted = window_key(gone.handle, 1, b"p" * 16)
        client.set(planted, b"planted")
        eraser, _ = self.make(settings)
        eraser.erase(eraser.plan(scope_of(gone)))
        assert client.exists(planted)
        eraser.erase(eraser.plan(replace(scope_of(gone), erasure=b"")))
        assert not [key for key in client.scan_iter() if gone.handle.hex().encode() in key]

    def test_it_costs_as_much_among_many(self, settings: Settings, gone: Seeded) -> None:
        """No walk over the keys of others: the same calls, however many there are."""
        client = opened(redis_client(settings))
        alone = self.calls(client, gone)
        others = seed(settings, "t1", secrets.token_hex(4), 1)
        for n in range(500):
            keep(client, window_key(others.handle, 1, n.to_bytes(16)), b"sealed", 60_000)
        assert self.calls(client, seed(settings, "t1", secrets.token_hex(4), 1)) == alone

    @staticmethod
    def calls(client: Any, seeded: Seeded) -> list[str]:
        made: list[str] = []
        spy = Faulty(client, lambda name, _: bool(made.append(name)), "", RedisTimeout)
        eraser = CacheEraser(spy)  # type: ignore[arg-type]
        eraser.erase(eraser.plan(scope_of(seeded)))
        assert not any(seen.remaining for seen in eraser.observe(scope_of(seeded)))
        return made


class TestKeys(EraserContract):
    eraser = "vault"

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        vault: Any = opened(open_vault(settings))
        proxy = None
        if fault:
            proxy = vault = Faulty(vault, ("destroy_keys",), fault, PartUnavailable, pretended=1)
        return KeysEraser(vault), proxy

    def test_no_byte_of_the_key_is_left_in_the_file(self, settings: Settings, gone: Seeded) -> None:
        vault = opened(open_vault(settings))
        assert vault.key_bytes(gone.handle) == 1
        eraser, _ = self.make(settings)
        eraser.erase(eraser.plan(scope_of(gone)))
        assert vault.key_bytes(gone.handle) == 0
        [seen] = eraser.observe(scope_of(gone))
        assert Property.COMPACTED in seen.proven

    def test_a_large_file_is_not_read_through(
        self, settings: Settings, gone: Seeded, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stores.erasers.keys.READ_BYTES", 1)
        eraser, _ = self.make(settings)
        eraser.erase(eraser.plan(scope_of(gone)))
        [seen] = eraser.observe(scope_of(gone))
        assert seen.proven == {Property.ABSENT}

    def test_a_narrow_selector_keeps_the_key(self, settings: Settings, gone: Seeded) -> None:
        eraser, _ = self.make(settings)
        narrow = Scope(b"", SelectorKind.MEMORY, b"", gone.ref, handle=gone.handle, blocked=True)
        eraser.erase(eraser.plan(narrow))
        assert opened(open_vault(settings)).key_exists([gone.handle])


def test_all_erasers_end_in_the_same_observable_state(settings: Settings) -> None:
    """H36: the same words for the same end, whatever the store."""
    gone = seed(settings, "t1", secrets.token_hex(4), 2)
    for suite in (TestTables, TestSubjects, TestPoints, TestCache, TestKeys):
        eraser, _ = suite().make(settings)
        eraser.erase(eraser.plan(scope_of(gone)))
        for seen in eraser.observe(scope_of(gone)):
            assert (seen.remaining, seen.status, seen.reason) == (0, None, None)
            assert seen.proven >= {Property.ABSENT} and seen.method
    assert issubclass(PartUnavailable, ObelusError)
