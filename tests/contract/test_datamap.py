"""Whatever can carry a subject is in the data map: tables, topics, key patterns, files, erasers."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from schemas import datamap
from schemas.datamap import ENTRIES, Store
from schemas.settings import Settings
from schemas.topics import TOPICS
from stores.cache import PREFIXES, names_key, recall_key, window_key
from stores.database import connect

pytestmark = pytest.mark.contract

# What names a person, or is sealed under a person's key.
TELLING = ("handle", "subject", "author", "conversation", "body", "tenant")
LIBRARY = ("_yoyo", "yoyo")
FILES = {
    "kafka": Store.INBOUND_LOGS,
    "postgres": Store.POSTGRES,
    "valkey": Store.REDIS,
    "vectors": Store.QDRANT,
    "vault": Store.VAULT,
    "logs": Store.FILES,
}


def unlisted(tables: dict[str, set[str]]) -> set[str]:
    places = {entry.place for entry in ENTRIES} | datamap.NO_SUBJECT
    telling = {name for name, columns in tables.items() if columns & set(TELLING)}
    return {name for name in telling if name not in places and not name.startswith(LIBRARY)}


def tables_of(settings: Settings) -> dict[str, set[str]]:
    query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    found: dict[str, set[str]] = {}
    with connect(settings.database) as conn:
        for table, column in conn.execute(query).fetchall():
            found.setdefault(table, set()).add(column)
    return found


@pytest.mark.integration
def test_every_table_that_names_a_person_is_in_the_map(settings: Settings) -> None:
    assert unlisted(tables_of(settings)) == set()


@pytest.mark.integration
def test_every_table_of_the_map_exists_and_can_be_erased_by_handle(settings: Settings) -> None:
    tables = tables_of(settings)
    for entry in ENTRIES:
        if entry.store is Store.POSTGRES:
            assert "handle" in tables[entry.place], entry.place


def test_a_new_table_with_a_subject_fails_until_it_is_listed() -> None:
    assert unlisted({"journal": {"id", "handle"}}) == {"journal"}
    assert unlisted({"journal": {"id", "note"}}) == set()


def test_every_topic_has_a_line() -> None:
    places = {e.place for e in ENTRIES if e.store in (Store.INBOUND_LOGS, Store.OWN_TOPICS)}
    assert places == {topic.name for topic in TOPICS}


def test_every_key_pattern_has_a_line() -> None:
    places = {entry.place for entry in ENTRIES if entry.store is Store.REDIS}
    assert {place.split(":")[0] for place in places} == set(PREFIXES)
    handle = b"h" * 16
    for made in (window_key(handle, 1, b"c" * 16), recall_key(handle, 1, 2, b"q" * 16), names_key(handle)):
        assert sum(fnmatchcase(made, place.format(handle=handle.hex())) for place in places) == 1


def test_keys_are_made_in_one_place_alone() -> None:
    """A key that another module spells could escape the map."""
    spelt = re.compile(rf"""["'](?:{"|".join(PREFIXES)}):""")
    root = Path(__file__).parents[2]
    found = {
        str(path.relative_to(root))
        for package in ("stores", "streams", "consumers", "recall", "deploy")
        for path in (root / package).rglob("*.py")
        if spelt.search(path.read_text("utf-8"))
    }
    assert found == {"stores/cache.py"}


def test_whoever_changes_memories_raises_the_generation() -> None:
    """A cached answer is found by it; last use and the index's note of itself change no answer."""
    changes = re.compile(r"(?:UPDATE|DELETE FROM|INSERT INTO|COPY) (?:memories|sources|conversation_consents)\b")
    raises = re.compile(r"UPDATE subjects.{0,80}?generation = (?:s\.)?generation \+ 1", re.DOTALL)
    root = Path(__file__).parents[2]
    for path in (*(root / "consumers").rglob("*.sql"), *(root / "stores").rglob("*.sql")):
        text = path.read_text("utf-8")
        if changes.search(text):
            assert raises.search(text), path.name


@pytest.mark.integration
def test_every_folder_of_the_home_belongs_to_a_store(stack) -> None:
    known = {*FILES, "keys"}
    for path in stack.settings.home.iterdir():
        # `h…` are homes of single tests inside the session's.
        if path.is_dir() and not path.name.startswith("h"):
            assert path.name in known, path.name


@pytest.mark.integration
def test_every_entry_has_one_eraser_and_every_eraser_entries(settings: Settings) -> None:
    from consumers.purger.registry import Parts

    parts = Parts.open(settings)
    names = [eraser.name for eraser in parts.erasers()]
    parts.close()
    assert sorted(names) == sorted({entry.eraser for entry in ENTRIES})
    assert names.index("vault") > max(names.index(n) for n in ("postgres", "vectors", "redis"))


def test_the_topics_of_ours_have_no_field_for_content() -> None:
    from schemas.events import EVENT_TYPES

    allowed = {
        *("id", "handle", "epoch", "type", "source_type", "outcome", "rule", "version", "status"),
        *("erasure_id", "challenge", "owner", "action", "artefacts", "deadline"),
        *("payload", "payloadType", "signatures"),
    }
    for topic in TOPICS:
        if not topic.inbound:
            for name in topic.events:
                assert set(EVENT_TYPES[name].model_fields) <= allowed, name
