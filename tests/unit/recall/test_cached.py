"""What an answer is kept under, for how long, and what is never taken for an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import pytest

from recall import cached
from recall.cached import AnswerCache
from recall.model import Kept, Question
from recall.truth import Person
from recall.validity import lasts
from schemas import datamap
from schemas.errors import PartUnavailable
from schemas.settings import Settings
from schemas.words import Sensitivity
from stores.cache import entry_of
from stores.copies import Recorded
from stores.sealing import SubjectKeys
from tests.unit.recall.made import NOW, known

HANDLE = b"h" * 16
KEYS = SubjectKeys(HANDLE, b"k" * 32)
WHO = Person(b"r" * 16, HANDLE, 3, True, 7, NOW)
QUESTION = Question("t", "ana", "which canary does she keep", 8, 800, role="agent")
KEPT = Kept(
    [{"value": "canary"}], [], ["00" * 16], ["00" * 16], {"hits": []}, (NOW + timedelta(seconds=60)).timestamp()
)
MINUTE = timedelta(minutes=1)


class Shelf:
    """Redis as far as it is used here; ``away`` refuses everything."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.left: dict[str, int] = {}
        self.away = False

    def read(self, key: str) -> bytes | None:
        self._there()
        return self.held.get(key)

    def write(self, key: str, sealed: bytes, milliseconds: int, recorded: Recorded) -> None:
        self._there()
        recorded.require(entry_of(key))
        self.held[key], self.left[key] = sealed, milliseconds

    def drop(self, key: str) -> None:
        self._there()
        self.held.pop(key, None)

    def _there(self) -> None:
        if self.away:
            raise PartUnavailable("away")


@pytest.fixture
def results() -> list[str]:
    return []


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def cache(shelf: Shelf, results: list[str], monkeypatch: pytest.MonkeyPatch) -> AnswerCache:
    monkeypatch.setattr(cached, "unmoved", lambda connection, who: True)
    made = AnswerCache(Settings(redis="redis://127.0.0.1:1/0"), ("policy", "hash"), results.append)
    made._opened = shelf  # type: ignore[assignment]
    return made


def key(cache: AnswerCache, question: Question = QUESTION, who: Person = WHO, keys: SubjectKeys = KEYS) -> str:
    found = cache.key(question, who, keys)
    assert found is not None
    return found


class TestKey:
    @pytest.mark.parametrize(
        "change",
        [
            {"text": "which canary"},
            {"role": "person"},
            {"role": "operator"},
            {"clearance": Sensitivity.PERSONAL},
            {"namespaces": ("profile",)},
            {"namespaces": ()},
            {"limit": 3},
            {"token_budget": 100},
            {"scope": "backend"},
        ],
    )
    def test_each_part_of_question_and_permission_counts(self, cache: AnswerCache, change: dict[str, Any]) -> None:
        assert key(cache, replace(QUESTION, **change)) != key(cache)

    def test_life_generation_and_makers_count(self, cache: AnswerCache) -> None:
        other = AnswerCache(Settings(redis="redis://127.0.0.1:1/0"), ("another policy", "hash"))
        found = {
            key(cache),
            key(cache, who=replace(WHO, epoch=4)),
            key(cache, who=replace(WHO, generation=8)),
            key(cache, who=replace(WHO, handle=b"o" * 16), keys=SubjectKeys(b"o" * 16, b"k" * 32)),
            key(cache, keys=SubjectKeys(HANDLE, b"K" * 32)),
            key(other),
        }
        assert len(found) == 6

    def test_order_of_namespaces_and_the_conversation_do_not(self, cache: AnswerCache) -> None:
        one, two = (replace(QUESTION, namespaces=names) for names in (("a", "b"), ("b", "a", "b")))
        assert key(cache, one) == key(cache, two)
        assert key(cache, replace(QUESTION, conversation="c")) == key(cache)

    def test_it_fits_the_data_map_and_tells_nothing(self, cache: AnswerCache) -> None:
        found = key(cache)
        pattern = datamap.BY_NAME["redis.cache"].place.format(handle=HANDLE.hex())
        assert fnmatchcase(found, pattern)
        assert found.startswith(f"recall:{HANDLE.hex()}:3:7:")
        assert not [word for word in ("canary", "ana", "agent", "profile") if word in found]

    @pytest.mark.parametrize("change", [{"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"statements": ("I moved",)}])
    def test_other_times_and_what_was_just_said_pass_by(
        self, cache: AnswerCache, results: list[str], change: dict[str, Any]
    ) -> None:
        assert cache.key(replace(QUESTION, **change), WHO, KEYS) is None
        assert results == ["bypass"]


class TestKeeping:
    def keep(self, cache: AnswerCache, kept: Kept = KEPT) -> str:
        place = key(cache)
        recorded = Recorded(frozenset({cache.entry(place)}))
        cache.keep(None, place, WHO, KEYS, kept, recorded)  # type: ignore[arg-type]
        return place

    def test_what_was_kept_comes_back_sealed_and_for_as_long_as_it_holds(
        self, cache: AnswerCache, shelf: Shelf, results: list[str]
    ) -> None:
        place = key(cache)
        assert cache.read(place, WHO, KEYS) is None
        self.keep(cache)
        assert cache.read(place, WHO, KEYS) == KEPT
        assert results == ["miss", "hit"]
        assert shelf.left[place] == 60_000
        assert b"canary" not in shelf.held[place]

    def test_the_databases_clock_ends_it_whatever_redis_says(self, cache: AnswerCache) -> None:
        place = self.keep(cache)
        assert cache.read(place, replace(WHO, now=NOW + timedelta(seconds=59)), KEYS) == KEPT
        assert cache.read(place, replace(WHO, now=NOW + timedelta(seconds=60)), KEYS) is None

    def test_what_holds_no_longer_or_is_large_is_not_kept(self, cache: AnswerCache, shelf: Shelf) -> None:
        self.keep(cache, replace(KEPT, until=NOW.timestamp()))
        self.keep(cache, replace(KEPT, items=[{"value": "x" * cached.LARGEST}]))
        assert shelf.held == {}

    def test_a_value_moved_to_another_key_is_no_answer(self, cache: AnswerCache, shelf: Shelf) -> None:
        place, other = self.keep(cache), key(cache, replace(QUESTION, role="person"))
        shelf.held[other] = shelf.held[place]
        assert cache.read(other, WHO, KEYS) is None
        shelf.held[place] = b"damaged"
        assert cache.read(place, WHO, KEYS) is None
        shelf.held[place] = KEYS.seal(place.encode(), b'{"items": []}')
        assert cache.read(place, WHO, KEYS) is None

    @pytest.mark.parametrize("looks", [lambda *_: False, lambda *_: 1 / 0])
    def test_what_came_too_late_is_taken_back(
        self, cache: AnswerCache, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, looks: Callable[..., bool]
    ) -> None:
        monkeypatch.setattr(cached, "unmoved", looks)
        self.keep(cache)
        assert shelf.left
        assert shelf.held == {}

    def test_without_redis_there_is_no_shortcut_and_no_error(
        self, cache: AnswerCache, shelf: Shelf, results: list[str]
    ) -> None:
        shelf.away = True
        for _ in range(2):
            place = self.keep(cache)
            assert cache.read(place, WHO, KEYS) is None
        shelf.away = False
        # Left alone for a while, so that nobody waits.
        assert cache.read(place, WHO, KEYS) is None
        assert results == ["unavailable"] * 3


class TestLasting:
    def lasts(self, **more: Any) -> timedelta:
        return lasts([known("tea"), known("x", **more)], NOW, 90 * MINUTE) - NOW

    def test_the_longest_where_nothing_ends(self) -> None:
        assert lasts([], NOW, MINUTE) == NOW + MINUTE
        assert self.lasts() == 90 * MINUTE

    @pytest.mark.parametrize(
        "more",
        [
            {"expires_at": NOW + MINUTE},
            {"valid_to": NOW + MINUTE},
            {"age_days": -1 - 1 / 1440},
            {"intervals": ((NOW - MINUTE, NOW + MINUTE),)},
            {"intervals": ((None, NOW - MINUTE), (NOW + timedelta(days=1) + MINUTE, None))},
        ],
    )
    def test_the_first_end_or_beginning_of_any_memory(self, more: dict[str, Any]) -> None:
        assert self.lasts(**more) == MINUTE

    def test_what_has_ended_ends_nothing(self) -> None:
        assert self.lasts(expires_at=NOW, valid_to=NOW - MINUTE) == 90 * MINUTE

    def test_the_hour_where_a_condition_follows_the_clock(self) -> None:
        assert self.lasts(conditions=("when.evening",)) == 60 * MINUTE
        assert self.lasts(conditions=("on.phone",)) == 90 * MINUTE
        late = NOW + 59 * MINUTE
        assert lasts([known("tea", conditions=("when.weekend",))], late, 5 * MINUTE) == NOW + 60 * MINUTE
