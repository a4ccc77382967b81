"""Decisions become memories on the real tables (C1 to C12, U2, P6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from consumers.contract import BaseConsumer, Span
from consumers.extractor.consumer import Extractor
from consumers.gate.consumer import Gate
from consumers.resolver.consumer import Resolver
from schemas.errors import TransientError
from schemas.settings import Settings
from schemas.words import MemoryStatus
from stores.database import connect, translate
from stores.memory_records import MemoryRecord, load_memories
from stores.vault import open_vault
from tests.integration.driven import Driven, announced, control, logs, turn

pytestmark = pytest.mark.integration


class Line:
    """Extractor, gate and resolver in a row, without the log between them."""

    def __init__(self, settings: Settings) -> None:
        logs(settings)
        self._settings = settings
        kinds: tuple[type[BaseConsumer[Any, Any, Any]], ...] = (Extractor, Gate, Resolver)
        self.extractor, self.gate, self.resolver = (Driven(kind(settings), settings) for kind in kinds)  # type: ignore[call-arg]
        self.decisions: list[Any] = []

    def say(self, *records: Any) -> Any:
        self.decide(*records)
        return self.resolver.take(*self.decisions)

    def decide(self, *records: Any) -> None:
        for one in (self.extractor, self.gate, self.resolver):
            one.said.clear()
        self.extractor.take(*records)
        self.gate.take(*announced(self.extractor.said))
        self.decisions = announced(self.gate.said)

    def tick(self) -> list[Any]:
        said = list(self.resolver.consumer.tick(self.resolver.tx))
        self.resolver.tx.commit()
        return said

    def memories(self, *, everything: bool = False) -> list[MemoryRecord]:
        with connect(self._settings.database) as tx:
            rows = tx.execute("SELECT handle, epoch FROM subjects WHERE handle IS NOT NULL").fetchall()
            keys = open_vault(self._settings).data_keys([row[0] for row in rows])
            statuses = tuple(MemoryStatus) if everything else (MemoryStatus.ACTIVE,)
            return [found for handle, epoch in rows for found in load_memories(tx, keys[handle], epoch, statuses)]

    def values(self) -> set[str]:
        return {memory.content.value for memory in self.memories()}

    def close(self) -> None:
        for one in (self.extractor, self.gate, self.resolver):
            one.close()


@pytest.fixture
def line(fresh_settings: Settings) -> Iterator[Line]:
    made = Line(fresh_settings)
    yield made
    made.close()


def test_a_turn_becomes_a_memory_with_source_history_and_lineage(line: Line) -> None:
    result = line.say(turn("Please remember that my favourite editor is Vim.", "m1"))
    assert result.counts == {"active": 1}
    (memory,) = line.memories()
    shown = memory.as_json()
    assert (shown["value"], shown["status"], shown["version"]) == ("Vim", "active", 1)
    assert shown["source"] == {"conversation": "c1", "message_ids": ["m1"]}
    assert "Vim" in shown["quote"]
    rows = line.resolver.rows("SELECT status, actor, rule, version FROM memory_versions")
    assert rows == [("active", "person", "accepted", 1)]
    edges = line.resolver.rows("SELECT child_kind, parent_kind FROM lineage ORDER BY 1")
    assert ("memory", "decision") in edges
    assert line.resolver.rows("SELECT generation > 0 FROM subjects") == [(True,)]
    (said,) = line.resolver.said
    assert said.type == "org.obelus.change.v1"
    assert said.body.decode().count(memory.id) == 1
    assert line.resolver.consumer.republish(line.resolver.tx, [Span(2, 0, 0, 100)]) == [said]


def test_nothing_readable_lies_in_the_tables(line: Line) -> None:
    line.say(turn("Please remember that my favourite editor is Canarymacs.", "mcanary"))
    for table in ("memories", "memory_versions", "sources", "endings", "lineage"):
        assert line.resolver.rows(f"SELECT count(*) FROM {table} t WHERE t::text ILIKE '%canary%'") == [(0,)]


def test_a_replay_of_everything_changes_nothing(line: Line) -> None:
    line.say(
        turn("My favourite editor is Vim.", "m1"),
        turn("I now use Helix instead of Vim as my editor.", "m2"),
        turn("I love jazz.", "m3"),
        turn("I love jazz!", "m4", conversation="c2"),
    )
    before = line.resolver.rows("SELECT id, version, status, source_count FROM memories ORDER BY id")
    assert before
    result = line.resolver.take(*line.decisions)
    assert set(result.counts) <= {"duplicate", "none"}
    assert line.resolver.rows("SELECT id, version, status, source_count FROM memories ORDER BY id") == before


def test_merges_supersedes_and_flips(line: Line) -> None:
    line.say(turn("I love oysters.", "m1"), turn("I love jazz.", "m2"))
    line.say(turn("I hate oysters now.", "m3"), turn("I love jazz.", "m4", conversation="c9"))
    polarities = {memory.content.value: str(memory.polarity) for memory in line.memories()}
    assert polarities["oysters"] == "negative"
    (jazz,) = [memory for memory in line.memories() if memory.content.value == "jazz"]
    assert jazz.source_count == 2
    assert jazz.source.message_ids == ("m2", "m4")
    assert jazz.source.conversation == "c1"
    statuses = sorted(str(memory.status) for memory in line.memories(everything=True))
    assert statuses == ["active", "active", "superseded"]


def test_orders_take_effect_and_say_so(line: Line) -> None:
    line.say(turn("My favourite editor is Vim.", "m1"))
    (vim,) = line.memories()
    line.say(control("correct", "r1", memory=vim.id, value="Helix"))
    (helix,) = line.memories()
    assert (helix.content.value, helix.supersedes) == ("Helix", vim.id)
    line.say(control("rollback", "r2", memory=helix.id))
    assert line.values() == {"Vim"}
    line.say(control("narrow", "r3", memory=vim.id, scope="project.backend"))
    (narrow,) = line.memories()
    assert (narrow.content.scope, narrow.supersedes) == ("project.backend", vim.id)
    line.say(control("disable", "r4", memory=narrow.id))
    assert line.values() == set()
    line.say(control("decline", "r5", memory="ab" * 16))
    rows = line.resolver.rows("SELECT action, applied, outcome FROM controls ORDER BY pos")
    assert rows == [
        ("correct", True, "applied"),
        ("rollback", True, "applied"),
        ("narrow", True, "applied"),
        ("disable", True, "applied"),
        ("decline", False, "no_match"),
    ]
    assert line.resolver.rows("SELECT DISTINCT actor FROM memory_versions WHERE rule = 'disabled'") == [("person",)]


def test_what_is_sensitive_waits_for_the_person(line: Line) -> None:
    """P6: announced as suggested, active only once it is confirmed, gone if nobody answers."""
    line.say(turn("I am allergic to peanuts.", "m1"), turn("我对花生过敏。", "m2", subject="bo"))
    assert line.values() == set()
    assert [b'"suggested"' in one.body for one in line.resolver.said] == [True, True]
    (mine,) = [one for one in line.memories(everything=True) if one.content.value == "peanuts"]
    assert mine.expires_at is not None
    line.say(control("confirm", "r1", memory=mine.id))
    (active,) = line.memories()
    assert (active.id, active.version, active.expires_at) == (mine.id, 2, None)
    with connect(line._settings.database) as tx:
        tx.execute("UPDATE memories SET expires_at = now() WHERE status = 'suggested'")
    assert len(line.tick()) == 1
    assert [str(one.status) for one in line.memories(everything=True) if one.id != mine.id] == ["expired"]


def test_an_order_of_somebody_else_finds_nothing(line: Line) -> None:
    line.say(turn("I love jazz.", "m1"))
    (jazz,) = line.memories()
    line.say(control("disable", "r1", subject="bo", memory=jazz.id))
    assert line.values() == {"jazz"}
    assert line.resolver.rows("SELECT applied, outcome FROM controls") == [(False, "no_match")]


@pytest.mark.parametrize("who", ["ann", "room"])
def test_an_erased_author_leaves_nothing_in_a_group(line: Line, who: str) -> None:
    """W11: author and subject are both asked about."""
    line.decide(turn("I love jazz.", "m1", subject="room", author="ann", visibility="shared"))
    ref = open_vault(line._settings).lookup("acme").subject(who)  # type: ignore[union-attr]
    with connect(line._settings.database) as tx:
        tx.execute("UPDATE subjects SET epoch = epoch + 1 WHERE ref = %s", (ref,))
    assert set(line.resolver.take(*line.decisions).counts) <= {"erased_source"}
    assert line.resolver.rows("SELECT count(*) FROM memories") == [(0,)]


def test_a_conversation_is_reverted(line: Line) -> None:
    line.say(turn("My favourite editor is Vim.", "m1"))
    line.say(turn("My favourite editor is Helix.", "m2", conversation="c2"))
    assert line.values() == {"Helix"}
    line.decide(turn("I love jazz.", "m3", conversation="c2"))
    late = line.decisions
    line.say(control("revert", "r1", conversation="c2"))
    assert line.values() == {"Vim"}
    assert line.resolver.take(*late).counts == {"reverted": 1}
    line.say(turn("I love rain.", "m4", conversation="c2"))
    assert line.values() == {"Vim", "rain"}


def test_forget_that(line: Line) -> None:
    """A7."""
    line.say(turn("记住我养了一只猫叫豆包。", "m1"))
    assert line.memories()
    line.say(turn("删除这条记忆。", "m2"))
    assert line.memories() == []


@pytest.mark.parametrize(
    "erase",
    [
        pytest.param("UPDATE subjects SET epoch = 2", id="epoch moved"),
        pytest.param("UPDATE subjects SET handle = NULL, epoch = 2", id="blocked"),
    ],
)
def test_the_erased_get_no_row(line: Line, erase: str) -> None:
    line.decide(turn("My favourite editor is Vim.", "m1"))
    with connect(line._settings.database) as tx:
        tx.execute(erase)
    result = line.resolver.take(*line.decisions)
    assert set(result.counts) == {"erased_source"}
    assert line.resolver.rows("SELECT count(*) FROM memories") == [(0,)]


def test_what_was_drawn_from_an_older_text_is_no_source(line: Line) -> None:
    """W1."""
    line.decide(turn("I love jazz.", "m1"))
    late = line.decisions
    line.decide(turn("I love rock.", "m1", revision=1))
    assert set(line.resolver.take(*late).counts) == {"erased_source"}
    line.resolver.take(*line.decisions)
    assert line.values() == {"rock"}


def test_an_edit_takes_back_what_the_older_text_said(line: Line) -> None:
    """W1, C14: also where the new text says nothing, and only where no other message says the same."""
    line.say(turn("My favourite editor is Vim.", "m1"), turn("I love jazz.", "m2"), turn("I love rain.", "m3"))
    line.say(turn("My favourite editor is Helix.", "m4"), turn("I love jazz.", "m5", conversation="c2"))
    line.say(turn("I no longer like rain.", "m6"), turn("I love oysters.", "m7"))
    assert line.values() == {"Helix", "jazz", "oysters"}
    assert line.tick() == []
    for message in ("m4", "m5", "m6", "m7"):
        line.decide(turn("Good morning.", message, revision=1))
    said = line.tick()
    assert line.values() == {"Vim", "jazz", "rain"}
    statuses = [status for status in ("deleted", "active") for one in said if f'"{status}"'.encode() in one.body]
    assert statuses == ["deleted"] * 2 + ["active"] * 2
    assert line.resolver.rows("SELECT count(*) FROM memories") == [(3,)]
    assert line.resolver.rows("SELECT count(*), count(DISTINCT memory) FROM sources") == [(3, 3)]
    assert line.resolver.rows("SELECT count(*) FROM endings") == [(0,)]
    assert line.resolver.rows(
        "SELECT count(*) FROM lineage WHERE child_kind = 'memory' AND child NOT IN (SELECT id FROM memories)"
    ) == [(0,)]
    assert line.tick() == []


def test_a_pause_stops_what_is_in_flight_for_good(line: Line) -> None:
    line.decide(turn("My favourite editor is Vim.", "m1"))
    late = line.decisions
    line.decide(control("pause", "r1"))
    assert set(line.resolver.take(*late).counts) == {"not_permitted"}
    line.decide(control("resume", "r2"))
    assert set(line.resolver.take(*late).counts) == {"not_permitted"}
    assert line.resolver.rows("SELECT count(*) FROM memories") == [(0,)]


def test_a_row_that_moved_is_noticed(line: Line) -> None:
    """C9."""
    line.say(turn("My favourite editor is Vim.", "m1"))
    line.decide(turn("My favourite editor is Helix.", "m2"))
    resolver = line.resolver
    ready = resolver.consumer.prepare(line.decisions)
    state = resolver.consumer.load(resolver.tx, ready)
    result = resolver.consumer.decide(ready, state)
    with connect(line._settings.database) as other:
        other.execute("UPDATE memories SET version = version + 1")
    with pytest.raises(TransientError), translate():
        resolver.consumer.store(resolver.tx, result)
    resolver.tx.rollback()
    resolver.take(*line.decisions)
    assert line.values() == {"Helix"}


def test_two_that_begin_the_same_memory(line: Line, fresh_settings: Settings) -> None:
    """E1, C9."""
    line.decide(turn("I love jazz.", "m1"), turn("I love jazz.", "m2", conversation="c2"))
    first, second = line.decisions
    other = Driven(Resolver(fresh_settings), fresh_settings)
    ready = other.consumer.prepare([second])
    state = other.consumer.load(other.tx, ready)
    line.resolver.take(first)
    with pytest.raises(TransientError), translate():
        other.consumer.store(other.tx, other.consumer.decide(ready, state))
    other.tx.rollback()
    other.take(second)
    other.close()
    (jazz,) = line.memories()
    assert jazz.source_count == 2


def test_time_ends_memories_and_suggestions_in_bounded_steps(line: Line) -> None:
    line.say(turn("I love jazz.", "m1"), turn("I love tea.", "m2"), turn("I love rain.", "m3"))
    line.resolver.rows("SELECT 1")
    with connect(line._settings.database) as tx:
        tx.execute("UPDATE memories SET expires_at = now() - interval '1 second' WHERE turn_row < 3")
    tx = line.resolver.tx
    said = line.resolver.consumer.tick(tx)
    tx.commit()
    assert len(said) == 2
    assert all(b'"status":"expired"' in message.body for message in said)
    assert {memory.content.value for memory in line.memories()} == {"rain"}
    assert line.resolver.consumer.tick(tx) == []
    tx.commit()
    rows = line.resolver.rows("SELECT version, actor, rule FROM memory_versions WHERE status = 'expired'")
    assert rows == [(2, "system", "expired")] * 2


def test_what_the_log_lost_is_announced_again(line: Line) -> None:
    line.decide(turn("I love jazz.", "m1"), turn("I love tea.", "m2"))
    line.resolver.take(line.decisions[0])
    line.resolver.consumer.reconcile(line.resolver.tx, [Span(2, 0, 0, 10)])
    line.resolver.tx.commit()
    rows = line.resolver.rows("SELECT topic, ce_id FROM outbox")
    assert rows == [("memory.decisions", line.decisions[1].event_id)]


def test_the_command_line_shows_memories_and_decisions(
    line: Line, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from deploy.cli import main

    line.say(turn("I love jazz.", "m1"), turn("My favourite editor is Vim.", "m2"), turn("你好", "m3"))
    line.say(turn("My favourite editor is Helix.", "m4"))
    monkeypatch.setenv("OBELUS_HOME", str(line._settings.home))
    monkeypatch.setenv("OBELUS_DATABASE", line._settings.database)

    def shown(*arguments: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--tenant", "acme", "--json"])
        assert ended.value.code in (0, None)
        return json.loads(capsys.readouterr().out)

    active = shown("memories", "--subject", "ann")["memories"]
    assert {one["value"] for one in active} == {"jazz", "Helix"}
    assert set(active[0]) >= set(
        "id type namespace key value polarity conditions scope status version confidence importance sensitivity quote"
        " source valid_from expires_at supersedes".split()
    )
    everything = shown("memories", "--subject", "ann", "--all")["memories"]
    assert {one["status"] for one in everything} == {"active", "superseded"}
    assert shown("memories", "--subject", "nobody") == {"memories": []}
    decided = shown("decisions")["decisions"]
    assert len(decided) == 3
    assert decided[-1]["candidate"]["value"] == "Helix"
    assert set(decided[0]) == {"id", "candidate", "outcome", "rule", "reasons", "policy_version", "at"}
    assert shown("decisions", "--subject", "ann")["decisions"] == decided
    assert shown("decisions", "--subject", "nobody") == {"decisions": []}
    with pytest.raises(SystemExit) as ended:
        main(["memories", "--tenant", "acme", "--subject", "a*"])
    assert ended.value.code == 2


def test_a_plan_told_long_ago_is_no_plan_of_today(line: Line) -> None:
    line.say(
        turn("I'm planning to climb Mount Kenya", "m-plan-1", at="2020-05-01T10:00:00Z"),
        turn("I plan to learn Dutch", "m-plan-2"),
    )
    ends = {memory.content.value: memory.status for memory in line.memories(everything=True)}
    assert ends == {"climb Mount Kenya": MemoryStatus.EXPIRED, "learn Dutch": MemoryStatus.ACTIVE}
