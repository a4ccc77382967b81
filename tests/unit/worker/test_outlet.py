"""Messages and offsets go out together or not at all, and doubt is never hidden."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from consumers import outlet as module
from consumers.faults import Faults
from consumers.held import Gone
from consumers.outlet import Outlet
from schemas.errors import PartUnavailable, UnknownOutcome
from streams.codec import Message
from tests.unit.worker.doubles import Cluster, FakeConsumer, FakeProducer


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def member(cluster: Cluster) -> FakeConsumer:
    consumer = FakeConsumer(cluster)
    cluster.owners[0] = consumer
    return consumer


def outlet(cluster: Cluster, faults: str = "") -> Outlet:
    return Outlet(lambda _: FakeProducer(cluster), lambda _: nullcontext(), Faults(faults))  # type: ignore[arg-type, return-value]


def said(*texts: str) -> list[Message]:
    return [Message("out", "k", "t", text, b"") for text in texts]


def offsets(offset: int) -> list[TopicPartition]:
    return [TopicPartition("in", 0, offset)]


def test_both_are_out(cluster: Cluster, member: Any) -> None:
    outlet(cluster).publish(said("a", "b"), offsets(2), member)
    assert (cluster.published, cluster.committed) == (["a", "b"], {0: 2})


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("begin", "plain"),
        ("produce", "abortable"),
        ("flush", "left"),
        ("send_offsets", "abortable"),
        ("send_offsets", "retriable"),
        ("kafka_commit", "abortable"),
    ],
)
def test_a_failed_step_aborts_and_the_next_works(cluster: Cluster, member: Any, step: str, kind: str) -> None:
    out = outlet(cluster)
    cluster.trouble = {step: kind}
    with pytest.raises(UnknownOutcome):
        out.publish(said("a"), offsets(1), member)
    assert (cluster.published, cluster.committed) == ([], {})
    out.publish(said("a"), offsets(1), member)
    assert (cluster.published, cluster.committed) == (["a"], {0: 1})


def test_brokers_that_were_away_are_met_with_another_producer(cluster: Cluster, member: Any) -> None:
    made: list[Any] = []
    lose: list[Any] = []

    def make(lost: Any) -> Any:
        made.append(FakeProducer(cluster))
        lose.append(lost)
        return made[-1]

    out = Outlet(make, lambda _: nullcontext(), Faults())
    out.publish(said("a"), offsets(1), member)
    lose[0]()
    cluster.trouble = {"init": "retriable"}
    with pytest.raises(PartUnavailable):
        out.publish(said("b"), offsets(2), member)
    out.publish(said("b"), offsets(2), member)
    out.publish(said("c"), offsets(3), member)
    assert (cluster.published, cluster.committed, len(made)) == (["a", "b", "c"], {0: 3}, 3)


def test_an_abort_that_fails_is_finished_before_the_next(cluster: Cluster, member: Any) -> None:
    out = outlet(cluster)
    cluster.trouble = {"produce": "abortable", "abort": "retriable"}
    with pytest.raises(UnknownOutcome):
        out.publish(said("a"), offsets(1), member)
    out.publish(said("b"), offsets(1), member)
    assert cluster.published == ["b"]


def test_a_commit_that_timed_out_is_asked_for_again(cluster: Cluster, member: Any) -> None:
    cluster.trouble = {"kafka_commit": "retriable"}
    outlet(cluster).publish(said("a"), offsets(1), member)
    assert cluster.published == ["a"]


@pytest.mark.parametrize(("step", "kind"), [("begin", "fatal"), ("kafka_commit", "done"), ("init", "fatal")])
def test_a_fenced_producer_is_gone(cluster: Cluster, member: Any, step: str, kind: str) -> None:
    out = outlet(cluster)
    cluster.trouble = {step: kind}
    with pytest.raises(Gone):
        out.start() if step == "init" else out.publish(said("a"), offsets(1), member)


def test_a_start_without_coordinator_is_tried_again(cluster: Cluster) -> None:
    cluster.trouble = {"init": "retriable"}
    with pytest.raises(PartUnavailable):
        outlet(cluster).start()


def test_a_member_that_was_put_out_cannot_commit(cluster: Cluster) -> None:
    with pytest.raises(UnknownOutcome):
        outlet(cluster).publish(said("a"), offsets(1), FakeConsumer(cluster))
    assert cluster.published == []


def test_a_long_span_goes_out_in_pieces_offsets_last(
    cluster: Cluster, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK", 3)
    out = outlet(cluster)
    texts = [f"m{number}" for number in range(7)]
    out.publish(said(*texts), offsets(9), member)
    assert (cluster.published, cluster.committed) == (texts, {0: 9})


def test_an_abort_on_request(cluster: Cluster, member: Any) -> None:
    out = outlet(cluster, "abort_kafka:2")
    out.publish(said("a"), offsets(1), member)
    with pytest.raises(UnknownOutcome):
        out.publish(said("b"), offsets(2), member)
    assert (cluster.published, cluster.committed) == (["a"], {0: 1})
