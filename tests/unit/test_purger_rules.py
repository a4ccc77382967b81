"""The purger's rules without any store: requests, lines, states."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from consumers.purger import lines
from consumers.purger.decide import Known, Request, deadline_of, decide, not_before
from consumers.purger.proof import next_look
from schemas import datamap
from schemas.eraser import Observation, Plan, Properties, Scope
from schemas.words import ErasureState, LineStatus, Property, SelectorKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def request(number: int, selector: bytes = b"s", **more: object) -> Request:
    values: dict[str, object] = {
        "id": bytes([number]) * 16,
        "tenant": b"t",
        "subject": b"p",
        "lock": 1,
        "kind": SelectorKind.SUBJECT,
        "selector": selector,
        "tag": None,
        "requested_at": NOW,
        "deadline": None,
        "expected_digest": None,
        "cancel": False,
        "cause": (1, 0, number),
    }
    return Request(**(values | more))  # type: ignore[arg-type]


def test_a_request_is_accepted_once_within_a_batch_and_across() -> None:
    first = decide([request(1), request(1), request(2)], {})
    assert [r.id[0] for r in first.accepted] == [1, 2] and first.repeated == 1
    again = decide([request(1)], {request(1).id: Known(b"s", ErasureState.FINAL)})
    assert again.accepted == () and again.repeated == 1


def test_another_selector_under_the_same_id_is_refused() -> None:
    found = decide([request(1), request(1, b"other")], {})
    assert [(r.selector, reason) for r, reason in found.refused] == [(b"other", "request_conflict")]


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (None, "unknown_request"),
        (ErasureState.PLANNED, "cancelled"),
        (ErasureState.BLOCKED, "too_late"),
        (ErasureState.FINAL, "too_late"),
        (ErasureState.CANCELLED, "repeated"),
    ],
)
def test_what_a_cancel_does(state: ErasureState | None, outcome: str) -> None:
    known = {request(1).id: Known(b"s", state)} if state else {}
    found = decide([request(1, cancel=True, kind=None)], known)
    told = {
        "cancelled": found.cancelled == (request(1).id,),
        "repeated": found.repeated == 1,
    }.get(outcome, [reason for _, reason in found.refused] == [outcome])
    assert told


def test_a_cancel_in_the_same_batch_stops_the_request() -> None:
    found = decide([request(1), request(1, cancel=True, kind=None)], {})
    assert found.cancelled == (request(1).id,) and len(found.accepted) == 1


def test_a_tenant_needs_a_plan_and_waits() -> None:
    bare = request(1, kind=SelectorKind.TENANT, subject=None)
    assert [reason for _, reason in decide([bare], {}).refused] == ["plan_required"]
    assert not_before(bare) == NOW + timedelta(hours=24) and not_before(request(1)) is None


def test_the_deadline_is_the_callers_or_thirty_days() -> None:
    assert deadline_of(request(1)) == NOW + timedelta(days=30)
    assert deadline_of(request(1, deadline=NOW)) == NOW


class Fake:
    name, version = "postgres", "1"

    def plan(self, scope: Scope) -> Plan:
        return Plan(scope, {})

    def erase(self, plan: Plan) -> None: ...

    def observe(self, scope: Scope) -> list[Observation]:
        return []

    def properties(self) -> Properties:
        return Properties(frozenset(), frozenset())


def seen(entry: str, remaining: int = 0, **more: object) -> Observation:
    proven = frozenset() if remaining else frozenset({Property.ABSENT})
    return Observation(entry, remaining, proven, "asked", **more)  # type: ignore[arg-type]


def test_zero_is_the_proof_not_what_was_deleted() -> None:
    assert lines.made(Fake(), seen("postgres.turns"), 3, NOW).status is LineStatus.ERASED
    assert lines.made(Fake(), seen("postgres.turns"), 0, NOW).status is LineStatus.NOTHING_FOUND
    left = lines.made(Fake(), seen("postgres.turns", 1), 3, NOW)
    assert (left.status, left.reason) == (LineStatus.OPEN, "left_over")


def test_a_key_gone_shreds_what_lay_under_it_and_nothing_else() -> None:
    turns = lines.made(Fake(), seen("postgres.turns"), 3, NOW)
    edges = lines.made(Fake(), seen("postgres.lineage"), 3, NOW)
    points = lines.made(Fake(), seen("qdrant.memories"), 3, NOW)
    key = lines.made(Fake(), seen("vault.keys"), 1, NOW)
    proven = {line.entry: line.proven for line in lines.with_key_gone([turns, edges, points, key])}
    assert Property.SHREDDED in proven["postgres.turns"]
    assert Property.SHREDDED not in proven["postgres.lineage"]
    assert Property.SPOILED in proven["qdrant.memories"]
    assert Property.SHREDDED not in proven["qdrant.memories"]
    there = lines.made(Fake(), seen("vault.keys", 1), 1, NOW)
    assert lines.with_key_gone([turns, there])[0].proven == turns.proven


def test_words_in_a_group_are_absent_not_shredded() -> None:
    turns = lines.made(Fake(), seen("postgres.turns"), 3, NOW)
    key = lines.made(Fake(), seen("vault.keys"), 1, NOW)
    line, _ = lines.with_key_gone(lines.with_words([turns, key], {"turns"}))
    assert line.proven == ("absent", "fenced") and lines.finished(line)


def every(**status: LineStatus) -> list:
    found = [lines.made(Fake(), seen(name), 1, NOW) for name in datamap.BY_NAME]
    return lines.with_key_gone(found)


def test_the_state_follows_from_the_lines() -> None:
    done = every()
    assert lines.state_of(done) is ErasureState.FINAL
    owners = [line for line in done if line.entry != "owners.artefacts"]
    waiting = lines.made(Fake(), seen("owners.artefacts", status=LineStatus.OPEN), 0, NOW)
    assert lines.state_of([*owners, waiting]) is ErasureState.VERIFIED
    others = [line for line in done if line.entry != "redis.cache"]
    [cache] = [line for line in lines.still_open(Named("redis"), {}, "unavailable") if line.entry == "redis.cache"]
    assert lines.state_of([*others, cache]) is ErasureState.PARTIAL


class Named(Fake):
    def __init__(self, name: str) -> None:
        self.name = name


def test_a_narrow_selector_claims_absence_and_no_more() -> None:
    line = lines.made(Fake(), seen("postgres.turns"), 3, NOW, SelectorKind.MESSAGE)
    assert line.proven == ("absent",) and line.target == ("absent",) and lines.finished(line)


def test_a_dated_line_is_finished_and_looked_at_on_its_date() -> None:
    dated = seen(
        "inbound_logs.memory.turns",
        status=LineStatus.EXPIRES,
        expires_at=NOW + timedelta(days=8),
    )
    line = lines.made(Fake(), dated, 0, NOW)
    assert lines.finished(line)
    assert next_look([line], ErasureState.FINAL, NOW) == NOW + timedelta(days=8)
    assert next_look([], ErasureState.FINAL, NOW) is None
