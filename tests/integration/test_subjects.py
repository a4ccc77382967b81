"""Subjects in the real tables: handles drawn once, locks in order, fences, keys swept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from schemas.errors import ConfigurationError, PartUnavailable, TransientError
from schemas.settings import Settings
from schemas.words import Consent
from stores import subjects
from stores.database import Connection, Link, connect, translate
from stores.migrate import migrate, pending
from stores.subjects import (
    SubjectRow,
    ensure_subjects,
    load_by_handle,
    load_by_ref,
    lock_handles,
    lock_refs,
    natural_id,
    sweep_keys,
)
from stores.vault import Vault, new_handle, open_vault
from streams.codec import Position
from tests.stack import Stack

pytestmark = pytest.mark.integration
ANN, BOB = ("acme", "ann"), ("acme", "bob")


@pytest.fixture
def vault(fresh_settings: Settings) -> Iterator[Vault]:
    made = open_vault(fresh_settings)
    yield made
    made.close()


@pytest.fixture
def conn(fresh_settings: Settings) -> Iterator[Connection]:
    with connect(fresh_settings.database) as made:
        yield made


def row_of(conn: Connection, vault: Vault, pair: tuple[str, str] = ANN) -> SubjectRow:
    ref = ensure_subjects(conn, vault, [pair])[pair]
    return load_by_ref(conn, [ref])[ref]


def block(conn: Connection, row: SubjectRow, fence: str = "{}", at: datetime | None = None) -> None:
    conn.execute(
        "UPDATE subjects SET handle = NULL, body = NULL, epoch = epoch + 1, fence = %s, fenced_at = %s WHERE ref = %s",
        (fence, at, row.ref),
    )
    conn.commit()


def test_a_subject_is_made_once_with_its_key(conn: Connection, vault: Vault) -> None:
    first = ensure_subjects(conn, vault, [ANN, BOB, ANN])
    again = ensure_subjects(conn, vault, [ANN])
    assert again[ANN] == first[ANN]
    rows = load_by_ref(conn, first.values())
    assert len({row.handle for row in rows.values()}) == 2
    row = rows[first[ANN]]
    assert (row.epoch, row.consent, row.tenant_consent, row.fence) == (1, Consent.ON, Consent.ON, {})
    assert row.handle is not None
    assert load_by_handle(conn, [row.handle]) == {row.handle: row}
    assert len(list(vault.handles())) == 2


def test_the_natural_id_is_sealed_and_nowhere_else(conn: Connection, vault: Vault, fresh_settings: Settings) -> None:
    row = row_of(conn, vault, ("acme-canary", "ann-canary"))
    (body,) = conn.execute("SELECT body FROM subjects").fetchone() or (b"",)
    assert natural_id(vault, row, body) == ("acme-canary", "ann-canary")
    shown = conn.execute("SELECT s::text || t::text FROM subjects s JOIN tenants t ON t.ref = s.tenant").fetchone()
    assert "canary" not in str(shown)


def test_a_block_that_takes_too_long_is_waited_for_again(
    conn: Connection, vault: Vault, fresh_settings: Settings
) -> None:
    row = row_of(conn, vault)
    block(conn, row)
    conn.execute("SET lock_timeout = '50ms'")
    conn.commit()
    with connect(fresh_settings.database) as blocking:
        blocking.execute("SELECT FROM subjects WHERE ref = %s FOR UPDATE", (row.ref,))
        for _ in range(2):
            with pytest.raises(TransientError):
                ensure_subjects(conn, vault, [ANN])
        blocking.rollback()
    assert row_of(conn, vault).handle is not None


def test_two_processes_draw_one_handle(conn: Connection, vault: Vault, fresh_settings: Settings) -> None:
    pairs = [("acme", f"s{n}") for n in range(40)]
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            mine = open_vault(fresh_settings)
            with connect(fresh_settings.database) as own:
                ensure_subjects(own, mine, pairs)
            mine.close()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    rows = load_by_ref(conn, ensure_subjects(conn, vault, pairs).values())
    held = {row.handle for row in rows.values()}
    assert len(held) == 40
    assert set(vault.handles()) == held, "the losers' keys are gone at once"


def test_an_erased_subject_begins_a_new_life(conn: Connection, vault: Vault) -> None:
    before = row_of(conn, vault)
    block(conn, before)
    after = row_of(conn, vault)
    assert after.epoch == before.epoch + 1
    assert after.handle not in (None, before.handle)
    assert load_by_handle(conn, [before.handle or b""]) == {}


def test_who_has_only_fenced_records_is_not_named_again(conn: Connection, vault: Vault) -> None:
    before = row_of(conn, vault)
    block(conn, before, '{"1/0": 100}')
    place = Position(1, 0, 99)
    ensure_subjects(conn, vault, [ANN], alive=lambda pair, row: not row.fenced(place, None))
    row = load_by_ref(conn, [before.ref])[before.ref]
    assert row.handle is None
    place = Position(1, 0, 100)
    ensure_subjects(conn, vault, [ANN], alive=lambda pair, row: not row.fenced(place, None))
    assert load_by_ref(conn, [before.ref])[before.ref].handle is not None


def test_a_fence_by_place_and_by_time(conn: Connection, vault: Vault) -> None:
    now = datetime.now(UTC)
    before = row_of(conn, vault)
    block(conn, before, '{"1/0": 100, "1/3": 5}', now)
    row = load_by_ref(conn, [before.ref])[before.ref]
    late = now + timedelta(seconds=1)
    assert row.fenced(Position(1, 0, 99), late)
    assert not row.fenced(Position(1, 0, 100), late)
    assert row.fenced(Position(1, 3, 4), None)
    assert not row.fenced(Position(1, 7, 0), late), "a partition absent from the fence lies after it"
    assert row.fenced(Position(1, 0, 500), now - timedelta(seconds=1)), "a time may refuse"
    assert row.fenced(Position(1, 0, 99), late), "and never admits"


def test_keys_without_a_row_are_swept(conn: Connection, vault: Vault) -> None:
    row = row_of(conn, vault)
    orphans, kept = [new_handle() for _ in range(3)], new_handle()
    vault.create_keys([*orphans, kept])
    assert sweep_keys(conn, vault) == 0, "a young key may be about to get its row"
    assert sweep_keys(conn, vault, keep=[kept], older_than=-1) == 3
    assert set(vault.handles()) == {row.handle, kept}


def test_a_kill_between_key_and_row_leaves_no_row_without_a_key(
    conn: Connection, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Exception):
        pass

    def die(*args: object) -> None:
        raise Killed

    monkeypatch.setattr(subjects, "columns", die)
    with pytest.raises(Killed):
        ensure_subjects(conn, vault, [ANN])
    conn.rollback()
    monkeypatch.undo()
    assert len(list(vault.handles())) == 1
    row = row_of(conn, vault)
    assert sweep_keys(conn, vault, older_than=-1) == 1
    assert set(vault.handles()) == {row.handle}


# Locks


def waits(fresh_settings: Settings, holder: Connection, take: str, lock: int) -> bool:
    """Whether another session has to wait for a lock."""
    with connect(fresh_settings.database) as other:
        other.execute("SET lock_timeout = '200ms'")
        try:
            with translate():
                lock_refs(other, **{take: [lock]})
        except TransientError:
            return True
        return False


@pytest.mark.parametrize(
    ("held", "wanted", "waiting"),
    [("shared", "shared", False), ("shared", "exclusive", True), ("exclusive", "shared", True)],
)
def test_shared_locks_share(conn: Connection, fresh_settings: Settings, held: str, wanted: str, waiting: bool) -> None:
    lock_refs(conn, **{held: [7]})
    assert waits(fresh_settings, conn, wanted, 7) is waiting
    conn.commit()
    assert not waits(fresh_settings, conn, wanted, 7)


def test_a_key_in_both_lists_is_taken_alone(conn: Connection, fresh_settings: Settings) -> None:
    lock_refs(conn, shared=[7, 8], exclusive=[7])
    assert waits(fresh_settings, conn, "shared", 7)
    assert not waits(fresh_settings, conn, "shared", 8)


def test_locking_by_handle_locks_subject_and_authors(conn: Connection, vault: Vault, fresh_settings: Settings) -> None:
    ann, bob = row_of(conn, vault), row_of(conn, vault, BOB)
    conn.commit()
    lock_handles(conn, [ann.handle or b"", new_handle()], [bob.ref])
    assert waits(fresh_settings, conn, "exclusive", ann.lock)
    assert waits(fresh_settings, conn, "exclusive", bob.lock)


def test_batches_in_any_order_never_wait_in_a_circle(fresh_settings: Settings) -> None:
    keys = list(range(-300, 300))
    wrong: list[BaseException] = []

    def work(order: list[int]) -> None:
        try:
            with connect(fresh_settings.database) as own:
                for _ in range(10):
                    lock_refs(own, exclusive=order)
                    own.commit()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(order,)) for order in (keys, keys[::-1], keys[::2] + keys[1::2])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_thousand_locks_cost_milliseconds(conn: Connection) -> None:
    took = []
    for _ in range(10):
        started = time.perf_counter()
        lock_refs(conn, shared=list(range(1000)))
        took.append(time.perf_counter() - started)
        conn.commit()
    # A busy machine makes some of them late.
    assert min(took) < 0.2


# The database itself


def test_migrations_are_idempotent_and_safe_at_once(stack: Stack) -> None:
    empty = stack.with_database().database
    assert pending(empty)
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(migrate(empty))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, found))[:3] == [0, 0, 0]
    assert len(found) == 4
    assert max(found, key=len)[0] == "0001-first-light"
    assert pending(empty) == []


def test_a_newer_database_is_refused(fresh_settings: Settings) -> None:
    with connect(fresh_settings.database) as conn:
        conn.execute(
            "INSERT INTO _yoyo_migration (migration_hash, migration_id, applied_at_utc) VALUES ('x', '9999-new', now())"
        )
    with pytest.raises(ConfigurationError, match="newer"):
        migrate(fresh_settings.database)


def test_errors_of_the_driver_become_ours_without_values(conn: Connection, vault: Vault) -> None:
    row_of(conn, vault)
    with pytest.raises(TransientError) as caught, translate():
        conn.execute("INSERT INTO tenants (ref) SELECT ref FROM tenants")
    assert "Key" not in str(caught.value)
    assert caught.value.__suppress_context__
    conn.rollback()
    with pytest.raises(ConfigurationError, match="migrate"), translate():
        conn.execute("SELECT * FROM nowhere")
    with pytest.raises(PartUnavailable):
        connect("postgresql://127.0.0.1:1/x")


def test_a_lost_connection_comes_back(fresh_settings: Settings, conn: Connection) -> None:
    link = Link(fresh_settings.database)
    with link.transaction() as tx:
        (pid,) = tx.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    conn.execute("SELECT pg_terminate_backend(%s)", (pid,))
    conn.commit()
    time.sleep(0.1)
    with pytest.raises(PartUnavailable), link.transaction() as tx:
        tx.execute("SELECT 1")
    with link.transaction() as tx:
        assert tx.execute("SELECT 1").fetchone() == (1,)
    link.close()
