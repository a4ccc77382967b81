"""Outside owners on the real parts: registered, ordered, believed by signature alone (D8, D11, H19, H27)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumers.purger.dryrun import as_requested
from consumers.purger.owners.eraser import OwnersEraser
from consumers.purger.sweep import erase, strays
from schemas.eraser import Scope
from schemas.errors import TransientError
from schemas.events import Deletion, Selector
from schemas.settings import Settings
from schemas.words import SelectorKind
from stores.database import connect
from streams.topics import apply
from tests.contract.faults import Faulty
from tests.integration.outside import Owners, edges, memories
from tests.seeding import Seeded, seed

pytestmark = pytest.mark.integration


@pytest.fixture
def owners(settings: Settings) -> Iterator[Owners]:
    apply(settings)
    found = Owners(settings.model_copy(update={"turns_log": "shared"}))
    found.parts.index.ensure(384)
    yield found
    found.close()


def test_a_sample_is_erased_and_a_skill_of_several_people_made_again(owners: Owners) -> None:
    """H19: text was copied into an eval sample and a derived skill."""
    anna, ben = seed(owners.settings, owners.tenant, "anna", 2), seed(owners.settings, owners.tenant, "ben", 1)
    mine, theirs = memories(owners, anna), memories(owners, ben)
    owners.register("sample-anna-1", mine[0])
    owners.register("sample-anna-2", {"subject": "anna", "message": "m1"})
    owners.register("skill-7", *mine, *theirs, owner="skills")
    owners.register("sample-ben", theirs[0])
    assert not owners.last.dead_letters and edges(owners) == 6

    erasure = owners.forget("anna")
    assert owners.advance(erasure) == "verified"
    assert owners.line(erasure) == ("external", "owner_silent")
    assert edges(owners) == 2
    first, second = owners.told()
    assert (first["owner"], first["action"], first["artefacts"]["count"]) == ("evals", "erase", 2)
    assert (second["owner"], second["action"], second["artefacts"]["count"]) == ("skills", "recompute", 1)
    assert first["key"] == "evals" and first["challenge"] != second["challenge"]
    assert owners.names(first) == ["sample-anna-1", "sample-anna-2"] and owners.names(second) == ["skill-7"]
    assert "anna" not in json.dumps([first, second])

    assert owners.answer(first) is None
    owners.advance(erasure)
    assert owners.line(erasure) == ("external", "owner_silent")
    assert owners.answer(second) is None
    assert owners.advance(erasure) in ("verified", "final")
    assert owners.line(erasure) == ("erased", None)
    # One that says what waits, one that says that it is done; between them the index may have said that it was rebuilt.
    said = [
        next(line["status"] for line in json.loads(evidence)["lines"] if line["entry"] == "owners.artefacts")
        for _, evidence in owners.receipts(erasure)
    ]
    assert sorted(said, key=said.index) == said and set(said) == {"external", "erased"} and said.count("erased") == 1
    assert owners.finish(erasure) == "final"
    assert owners.names(first) == []
    kept = (
        owners.parts.observing()
        .execute("SELECT count(*) FROM artefacts WHERE body IS NOT NULL AND tenant = %s", (anna.tenant_ref,))
        .fetchone()
    )
    assert kept == (2,)
    owners.advance(erasure)
    assert owners.told() == []


def test_only_the_right_answer_of_the_right_owner_counts(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    owners.register("s1", *memories(owners, anna))
    erasure = owners.forget("anna")
    owners.advance(erasure)
    [order] = owners.told()
    assert owners.answer(order, key=None) == "bad_signature"
    assert owners.answer(order, key=Ed25519PrivateKey.generate()) == "bad_signature"
    assert owners.answer(order, challenge="guessed") == "wrong_challenge"
    assert owners.answer(order, expected=2) == "wrong_count"
    assert owners.answer(order, expected=None) == "wrong_count"
    assert owners.answer(order, owner="nobody") == "unknown_order"
    assert owners.answer(order, erasure_id="ab" * 16) == "unknown_order"
    owners.settings.owners_file.write_text("{}")
    assert owners.answer(order) == "unknown_owner"
    owners.settings.owners_file.write_text("half a fi")
    assert owners.answer(order) == "unknown_owner"
    owners.advance(erasure)
    assert owners.line(erasure) == ("external", "owner_silent")


def test_in_progress_past_the_deadline_is_escalated_and_a_late_completion_closes_it(owners: Owners) -> None:
    """H27: the vendor accepts, and acts weeks later."""
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    owners.register("s1", *memories(owners, anna))
    erasure = owners.forget("anna")
    owners.advance(erasure)
    [order] = owners.told()
    assert owners.answer(order, "in_progress") is None
    assert owners.advance(erasure) == "verified"
    conn = owners.parts.observing()
    conn.execute("UPDATE owner_orders SET deadline = now() WHERE erasure = %s", (erasure,))
    assert owners.advance(erasure) == "needs_human"
    assert owners.line(erasure) == ("open", "owner_late")
    count = len(owners.receipts(erasure))
    assert owners.advance(erasure) == "needs_human" and len(owners.receipts(erasure)) == count
    assert conn.execute("SELECT verified_at IS NOT NULL FROM erasures WHERE id = %s", (erasure,)).fetchone() == (True,)
    assert owners.answer(order) is None
    assert owners.finish(erasure) == "final"
    assert owners.line(erasure) == ("erased", None)


def test_a_refusal_keeps_the_line_open(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    owners.register("s1", *memories(owners, anna))
    erasure = owners.forget("anna")
    owners.advance(erasure)
    [order] = owners.told()
    assert owners.answer(order, "refused") is None
    assert owners.advance(erasure) == "needs_human"
    assert owners.line(erasure) == ("open", "owner_refused")


def test_an_unknown_parent_is_a_dead_letter_and_of_another_tenant_too(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    other = seed(owners.settings, owners.tenant + "-b", "eve", 1)
    for parents in (
        [{"memory": "ab" * 16}],
        [*memories(owners, anna), {"memory": "ab" * 16}],
        memories(owners, other),
        [{"subject": "anna", "message": "never-said"}],
        [{"subject": "nobody", "message": "m0"}],
    ):
        [letter] = owners.register("s1", *parents).dead_letters
        assert letter.reason == "unknown_parent"
    assert edges(owners) == 0
    for parent, reason in (({"memory": "zz"}, "invalid_id"), ({"subject": "anna"}, "missing_field")):
        [letter] = owners.register("s1", parent).dead_letters
        assert letter.reason == reason


def test_what_is_registered_after_the_erasure_is_ordered_at_once(owners: Owners) -> None:
    anna, ben = seed(owners.settings, owners.tenant, "anna", 1), seed(owners.settings, owners.tenant, "ben", 1)
    mine, theirs = memories(owners, anna), memories(owners, ben)
    erasure = owners.forget("anna")
    assert owners.finish(erasure) == "final"
    assert owners.line(erasure) == ("nothing_found", None)
    conn = owners.parts.observing()
    due = "SELECT next_at <= now() FROM erasures WHERE id = %s"
    owners.register("late", *mine)
    assert conn.execute(due, (erasure,)).fetchone() == (True,)
    owners.register("late-mixed", *mine, *theirs)
    owners.register("late-message", {"subject": "anna", "message": "m0"}, when=datetime.now(UTC) + timedelta(hours=1))
    owners.advance(erasure)
    assert owners.line(erasure) == ("external", "owner_silent")
    erase, again = owners.told()
    assert (erase["action"], owners.names(erase)) == ("erase", ["late", "late-message"])
    assert (again["action"], owners.names(again)) == ("recompute", ["late-mixed"])
    assert owners.answer(erase) is None and owners.answer(again) is None
    assert owners.finish(erasure) == "final"
    assert owners.line(erasure) == ("erased", None)
    assert edges(owners) == 1


def test_twice_is_once_and_a_replay_asks_nobody_again(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    mine = memories(owners, anna)
    owners.register("s1", *mine)
    at = owners._at
    owners.register("s1", *mine, at=at)
    assert edges(owners) == 1
    erasure = owners.forget("anna")
    owners.advance(erasure)
    owners.advance(erasure)
    [order] = owners.told()
    owners.register("s1", *mine, at=at)
    assert owners.last.counts["repeated"] == 1 and edges(owners) == 0
    assert owners.answer(order) is None and owners.answer(order) is None
    assert owners.last.counts["repeated"] == 1
    assert owners.answer(order, "refused") is None
    assert owners.finish(erasure) == "final"
    assert owners.line(erasure) == ("erased", None) and owners.told() == []


def test_a_whole_tenant_takes_every_artefact(owners: Owners) -> None:
    people = [seed(owners.settings, owners.tenant, name, 1) for name in ("anna", "ben")]
    owners.register("both", *[parent for one in people for parent in memories(owners, one)])
    counts, digest = as_requested(owners.settings, owners.tenant, Selector(kind=SelectorKind.TENANT))
    assert (counts["owners.artefacts"], counts["postgres.derivations"]) == (1, 2)
    event = Deletion(
        request_id="w", tenant=owners.tenant, requested_by="officer", plan_digest=digest,
        selector=Selector(kind=SelectorKind.TENANT),
    )  # fmt: skip
    erasure = owners.send(event)
    owners.erasures.add(erasure.hex())
    owners.parts.observing().execute("UPDATE erasures SET not_before = now() WHERE id = %s", (erasure,))
    owners.advance(erasure)
    [order] = owners.told()
    assert (order["action"], owners.names(order)) == ("erase", ["both"]) and edges(owners) == 0
    owners.answer(order)
    assert owners.finish(erasure) == "final"


def test_nothing_readable_lies_in_the_tables(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    owners.register("canary-artefact", *memories(owners, anna))
    erasure = owners.forget("anna")
    owners.advance(erasure)
    for table in ("artefacts", "derivations", "departed", "owner_orders", "ordered_artefacts", "outbox"):
        query = f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%%canary%%' OR t::text LIKE '%%anna%%'"
        assert owners.parts.observing().execute(query).fetchone() == (0,)


def another(conn: Any, table: str, seeded: Seeded) -> None:
    """A row of the subject once more, under another id, from which no edge leads."""
    own = {"decisions": "candidate", "vectors": "point"}.get(table, "id")
    changed = {own: "%(id)s"}
    if table == "memories":
        # Apart from the row that it copies, as its unique indexes want it.
        changed |= {"value_digest": "%(id)s", "status": "'pending'"}
    query = "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_identity = 'NO'"
    names = [row[0] for row in conn.execute(query, (table,)).fetchall()]
    values = ", ".join(changed.get(name, name) for name in names)
    statement = f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} WHERE handle = %(handle)s"
    conn.execute(statement, {"id": secrets.token_bytes(16), "handle": seeded.handle})


@pytest.mark.parametrize("table", ["candidates", "decisions", "memories", "vectors"])
def test_a_child_without_a_parent_is_refused(owners: Owners, table: str) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    with connect(owners.settings.database) as conn:
        another(conn, table, anna)
        with pytest.raises(psycopg.errors.CheckViolation):
            conn.commit()


def test_an_artefact_without_a_parent_is_refused(owners: Owners) -> None:
    with connect(owners.settings.database) as conn:
        conn.execute("INSERT INTO artefacts VALUES (%s, %s, 'o', '', 1, 0, 0)", (secrets.token_bytes(16), b"t"))
        with pytest.raises(psycopg.errors.CheckViolation):
            conn.commit()


def test_under_a_legal_hold_it_goes_into_quarantine(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    owners.register("s1", *memories(owners, anna))
    erasure = owners.forget("anna")
    owners.parts.observing().execute("UPDATE erasures SET hold = true WHERE id = %s", (erasure,))
    owners.advance(erasure)
    [order] = owners.told()
    assert (order["action"], owners.names(order)) == ("quarantine", ["s1"])
    assert owners.answer(order) is None
    owners.advance(erasure)
    assert owners.line(erasure) == ("withheld", "legal_hold")
    assert owners.names(order) == ["s1"]


def test_a_sweep_brings_what_was_registered_late_to_its_erasure(owners: Owners) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    mine = memories(owners, anna)
    erasure = owners.forget("anna")
    assert owners.finish(erasure) == "final"
    owners.register("late", *mine)
    # As if whoever was at work on the erasure had put it off in the same moment.
    conn = owners.parts.observing()
    conn.execute("UPDATE erasures SET next_at = NULL WHERE id = %s", (erasure,))
    found = [stray for stray in strays(owners.parts) if stray.handle == anna.handle]
    assert [(stray.entry, stray.count) for stray in found] == [("postgres.derivations", 1)]
    erase(owners.parts, found)
    assert conn.execute("SELECT next_at <= now() FROM erasures WHERE id = %s", (erasure,)).fetchone() == (True,)
    owners.advance(erasure)
    [order] = owners.told()
    assert owners.names(order) == ["late"]


@pytest.mark.parametrize("statement", ["DELETE FROM derivations", "INSERT INTO owner_orders", "INSERT INTO outbox"])
@pytest.mark.parametrize("fault", ["lost", "delayed", "refused"])
def test_a_fault_on_the_way_orders_once_all_the_same(owners: Owners, statement: str, fault: str) -> None:
    anna = seed(owners.settings, owners.tenant, "anna", 1)
    owners.register("s1", *memories(owners, anna))
    erasure = owners.forget("anna")
    row = owners.row(erasure)
    scope = Scope(erasure, SelectorKind.SUBJECT, anna.tenant_ref, anna.ref, handle=row[1], epoch=1, blocked=True)
    with connect(owners.settings.database, autocommit=True) as conn:

        def changes(name: str, given: tuple[Any, ...]) -> bool:
            return name == "execute" and statement in str(given[0])

        proxy: Any = Faulty(conn, changes, fault, psycopg.OperationalError)
        eraser = OwnersEraser(owners.parts.vault, lambda: proxy, owners.parts.observing)
        failed = False
        try:
            eraser.erase(eraser.plan(scope))
        except TransientError:
            failed = True
        assert proxy.happened and failed == (fault != "delayed")
    # What failed has left nothing behind: the next run does it all.
    honest = OwnersEraser(owners.parts.vault, owners.parts.erasing, owners.parts.observing)
    assert [seen.remaining for seen in honest.observe(scope)] == ([1, 1] if failed else [1, 0])
    honest.erase(honest.plan(scope))
    honest.erase(honest.plan(scope))
    assert len(owners.told()) == 1 and edges(owners) == 0
