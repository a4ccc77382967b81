"""Every memory can be followed to what was said, and from there to every copy (D11, W3C PROV)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tried
from hypothesis import strategies as st

from deploy.cli.lineage_forms import dot, prov
from schemas.settings import Settings
from stores.database import Connection, connect
from stores.lineage import ROOTS, Graph, Opener, graph, whose
from stores.vault import open_vault
from tests.integration.driven import control, turn
from tests.integration.test_resolver import Line

pytestmark = pytest.mark.integration

TALK = (
    "Please remember that my favourite editor is {}.",
    "I live in {}.",
    "I moved to {}.",
    "My favourite tea is {}.",
    "Actually, my favourite editor is {}.",
    "I no longer like {}.",
)
WORDS = ("Vim", "Oslo", "Oolong", "Lyon")


@pytest.fixture(scope="module")
def line(settings: Settings) -> Iterator[Line]:
    made = Line(settings)
    yield made
    made.close()


@pytest.fixture(scope="module")
def conn(settings: Settings) -> Iterator[Connection]:
    with connect(settings.database, autocommit=True) as connection:
        yield connection


def walked(conn: Connection) -> list[Graph]:
    rows = conn.execute("SELECT id, handle FROM memories").fetchall()
    return [graph(conn, handle, memory) for memory, handle in rows]


counter = iter(range(10_000))
said = st.lists(
    st.tuples(st.sampled_from(TALK), st.sampled_from(WORDS), st.sampled_from(["ann", "bo"])), min_size=1, max_size=6
)


@tried(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said, st.booleans())
def test_the_walk_upwards_ends_in_what_was_said(
    line: Line, conn: Connection, talk: list[tuple[str, str, str]], together: bool
) -> None:
    records = [turn(text.format(word), f"m{next(counter)}", subject=who) for text, word, who in talk]
    batches = [records] if together else [[record] for record in records]
    for batch in batches:
        line.say(*batch)
    for memory in line.memories()[:2]:
        line.say(control("disable", f"r{next(counter)}", memory=memory.id, subject="ann"))
    graphs = walked(conn)
    for found in graphs:
        roots = found.roots(found.start)
        assert roots and {key.kind for key in roots} <= set(ROOTS)
        assert all(key in found.nodes for edge in found.edges for key in edge)
    for child, parents in (
        ("candidates", "turn"),
        ("decisions", "candidate"),
        ("memories", "decision"),
    ):
        own = "candidate" if child == "decisions" else "id"
        query = f"SELECT count(*) FROM {child} WHERE NOT EXISTS (SELECT FROM lineage WHERE child = {own})"
        assert conn.execute(query).fetchone() == (0,), parents


def test_a_correction_reaches_the_turn_and_the_control(fresh_settings: Settings) -> None:
    line = Line(fresh_settings)
    line.say(turn("Please remember that my favourite editor is Vim.", "m1"))
    [memory] = line.memories()
    line.say(control("correct", "r1", memory=memory.id, value="Emacs"))
    with connect(fresh_settings.database, autocommit=True) as conn:
        kinds = set()
        for found in walked(conn):
            kinds |= {key.kind for key in found.roots(found.start)}
        assert kinds == {"turn", "control"}
    line.close()


def test_forms_show_no_content_until_it_is_opened(fresh_settings: Settings) -> None:
    line = Line(fresh_settings)
    line.say(turn("Please remember that my favourite editor is Canarymacs.", "m1"))
    [memory] = line.memories()
    name = bytes.fromhex(memory.id)
    vault = open_vault(fresh_settings)
    lookup = vault.lookup("acme")
    assert lookup is not None
    with connect(fresh_settings.database, autocommit=True) as conn:
        held = whose(conn, lookup.tenant_ref, name)
        assert held is not None
        assert whose(conn, vault.tenant_ref("other"), name) is None
        closed = graph(conn, held[0], name)
        opened = graph(conn, held[0], name, Opener(vault.data_keys([held[0]])[held[0]], lookup))
    assert "Canary" not in str(prov(closed)) + dot(closed)
    assert "Canarymacs" in str(prov(opened)) and "Canarymacs" in dot(opened)

    document = prov(closed)
    names = {f"obelus:{key.kind}/{key.id.hex()}" for key in closed.nodes}
    assert set(document["entity"]) == names and len(names) == 4
    derived = document["wasDerivedFrom"].values()
    assert len(derived) == 3
    for edge in derived:
        assert {edge["prov:generatedEntity"], edge["prov:usedEntity"]} <= names
        assert edge["prov:activity"] in document["activity"]
    assert {made["prov:entity"] for made in document["wasGeneratedBy"].values()} < names
    attributed = {one["prov:entity"]: one["prov:agent"] for one in document["wasAttributedTo"].values()}
    assert set(attributed) == names and set(attributed.values()) <= set(document["agent"])
    vault.close()
    line.close()
