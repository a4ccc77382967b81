"""Lag is what is not yet both stored and published."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from schemas.errors import PartUnavailable
from streams import offsets
from streams.offsets import LogEnd, behind

ENDS = [LogEnd("t", "id", 0, 5, 20), LogEnd("t", "id", 1, 0, 0), LogEnd("u", "id2", 0, 0, 9)]


def test_the_lesser_position_counts() -> None:
    assert behind(ENDS, {"t"}, {("t", 0): 20}, {("t", 0): 12}) == {"t": 8}
    assert behind(ENDS, {"t"}, {("t", 0): 12}, {("t", 0): 20}) == {"t": 8}
    assert behind(ENDS, {"t", "u"}, {("t", 0): 20, ("u", 0): 9}, {("t", 0): 20, ("u", 0): 9}) == {"t": 0, "u": 0}


def test_without_a_position_the_whole_log_is_ahead() -> None:
    assert behind(ENDS, {"t", "u"}, {}, {}) == {"t": 15, "u": 9}


def test_what_the_log_has_dropped_does_not_count() -> None:
    assert behind(ENDS, {"t"}, {("t", 0): 1}, {("t", 0): 1}) == {"t": 15}


def refusing(code: int, times: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the broker refuse so many times before it answers; gives the attempts."""
    tries: list[int] = []

    def asked(*_: object) -> list[LogEnd]:
        tries.append(1)
        if len(tries) <= times:
            raise KafkaException(KafkaError(code))
        return ENDS

    monkeypatch.setattr(offsets, "_log_ends", asked)
    return tries


def test_a_partition_that_is_moving_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = refusing(KafkaError.NOT_LEADER_FOR_PARTITION, 2, monkeypatch)
    assert offsets.log_ends(None, ["t"]) == ENDS  # type: ignore[arg-type]
    assert len(tries) == 3


def test_a_partition_that_never_settles_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(KafkaError.NOT_LEADER_FOR_PARTITION, 1000, monkeypatch)
    with pytest.raises(PartUnavailable, match="NOT_LEADER"):
        offsets.log_ends(None, ["t"], timeout=0.1)  # type: ignore[arg-type]


def test_another_error_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = refusing(KafkaError.TOPIC_AUTHORIZATION_FAILED, 1000, monkeypatch)
    with pytest.raises(PartUnavailable, match="AUTHORIZATION"):
        offsets.log_ends(None, ["t"])  # type: ignore[arg-type]
    assert len(tries) == 1
