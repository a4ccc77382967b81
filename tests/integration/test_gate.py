"""Candidates become decision rows on the real tables (P1, P4, P7, D3)."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from consumers.contract import Span
from consumers.extractor.consumer import Extractor
from consumers.gate.consumer import Gate
from policy.document import load_policy
from schemas.settings import Settings
from stores.vault import open_vault
from tests.integration.driven import Driven, announced, control, logs, turn

pytestmark = pytest.mark.integration
LIKES = "Please remember that I prefer oolong tea."
Pair = tuple[Driven, Driven]


@pytest.fixture
def pair(fresh_settings: Settings) -> Iterator[Pair]:
    logs(fresh_settings)
    extractor = Driven(Extractor(fresh_settings), fresh_settings)
    gate = Driven(Gate(fresh_settings), fresh_settings)
    yield extractor, gate
    extractor.close()
    gate.close()


def test_a_decision_names_policy_rule_and_reasons(pair: Pair) -> None:
    extractor, gate = pair
    extractor.take(turn(LIKES, "m1"))
    waiting = announced(extractor.said)
    assert gate.take(*waiting).counts == {"decided": len(waiting)}
    policy = load_policy()
    rows = gate.rows(
        "SELECT d.outcome, d.rule, d.reasons, d.policy_version, d.policy_hash, d.extractor, c.extractor"
        " FROM decisions d JOIN candidates c ON c.id = d.candidate"
    )
    assert len(rows) == len(waiting)
    for row in rows:
        assert row[0] == "accept"
        assert row[1:3] == ("explicit-remember", ["user_stated", "explicit"])
        assert row[3:5] == (policy.version, policy.sha256)
        assert row[5] == row[6]
    edges = gate.rows("SELECT child, parent, parent_kind FROM lineage WHERE child_kind = 'decision'")
    assert {edge[2] for edge in edges} == {"candidate"}
    again = gate.consumer.republish(gate.tx, [Span(2, 0, 0, 100)])
    assert sorted(again) == sorted(gate.said)
    assert gate.take(*waiting).counts == {"duplicate": len(waiting)}


def test_a_pause_stops_what_is_already_in_flight(pair: Pair) -> None:
    extractor, gate = pair
    extractor.take(turn(LIKES, "m1"), turn(LIKES, "m2", conversation="c2"))
    first, second = (announced(extractor.said)[index] for index in (0, 1))
    extractor.take(control("pause", "r1", conversation="c1"))
    assert gate.take(first).counts == {"not_permitted": 1}
    extractor.take(control("pause", "r2"))
    assert gate.take(second).counts == {"not_permitted": 1}
    rows = gate.rows("SELECT outcome, rule, reasons FROM decisions")
    assert rows == [("reject", "consent", ["not_permitted"])] * 2
    # Final, also once it is lifted.
    extractor.take(control("resume", "r3"), control("resume", "r4", conversation="c1"))
    assert gate.take(first, second).counts == {"duplicate": 2}


@pytest.mark.parametrize(
    "erase",
    [
        pytest.param("DELETE FROM candidates", id="candidate gone"),
        pytest.param("UPDATE subjects SET epoch = 2", id="epoch moved"),
        pytest.param("UPDATE subjects SET handle = NULL, epoch = 2", id="blocked"),
    ],
)
def test_the_erased_have_no_row(pair: Pair, erase: str) -> None:
    extractor, gate = pair
    extractor.take(turn(LIKES, "m1"))
    with gate.tx.transaction():
        gate.tx.execute(erase)
    assert gate.take(*announced(extractor.said)).counts == {"erased_source": len(extractor.said)}
    assert gate.rows("SELECT count(*) FROM decisions") == [(0,)]
    assert not gate.said


def test_a_correction_is_judged_as_what_it_corrects(pair: Pair, fresh_settings: Settings) -> None:
    extractor, gate = pair
    extractor.take(turn(LIKES, "m1"))
    ((ref, tenant, handle),) = gate.rows("SELECT ref, tenant, handle FROM subjects")
    keys = open_vault(fresh_settings).data_keys([handle])[handle]
    memory = keys.id("memory", b"of the test")
    body = keys.seal(memory, orjson.dumps({"namespace": "preferences", "key": "drink", "value": "oolong tea"}))
    with gate.tx.transaction():
        gate.tx.execute(
            "WITH edge AS (INSERT INTO lineage VALUES ('memory', %s, 'decision', 'd', %s))"
            " INSERT INTO memories (id, subject, tenant, handle, epoch, identity, value_digest, version, status, type,"
            " polarity, source_type, sensitivity, visibility, namespaces, confidence, importance, explicit, turn_row,"
            " valid_from, body) VALUES (%s, %s, %s, %s, 1, '', '', 1, 'active', 'preference', 'positive',"
            " 'user_stated', 'none', 'private', '{}', 1, 1, true, 1, now(), %s)",
            (memory, handle, memory, ref, tenant, handle, body),
        )
    extractor.said.clear()
    order = {"memory": memory.hex(), "value": "green tea"}
    extractor.take(
        control("correct", "r1", **order),
        control("correct", "r2", **{**order, "value": "password: hunter2Abc!"}),
        control("correct", "r3", **{**order, "memory": "ab" * 16}),
        control("disable", "r4", memory=memory.hex()),
    )
    gate.take(*announced(extractor.said))
    decided = gate.rows(
        "SELECT k.pos, d.outcome, d.rule FROM decisions d JOIN candidates c ON c.id = d.candidate"
        " JOIN controls k ON k.id = c.control ORDER BY k.pos"
    )
    assert [row[1:] for row in decided] == [
        ("accept", "confirmed-by-person"),
        ("reject", "secret"),
        ("reject", "target"),
        ("accept", "confirmed-by-person"),
    ]
    assert ("secret",) in gate.rows("SELECT kind FROM security_events")
