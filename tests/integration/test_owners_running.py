"""An outside owner and the whole stack: Kafka, API and commands only (D8, D11, H19)."""

from __future__ import annotations

import base64
import json
import time
from base64 import b64decode
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.acknowledgement import signed_text
from schemas.events import Derivation, ErasureAck, Event, Turn
from schemas.settings import Settings
from schemas.topics import ACKS, DERIVATIONS, ERASURES, TURNS
from schemas.words import Role
from stores.artefacts import digest_of
from streams.codec import message
from streams.producer import publish
from tests.chaos.harness import until
from tests.running import Pipeline

pytestmark = [pytest.mark.integration, pytest.mark.slow]

OWNER = "lab"


def send(settings: Settings, topic: str, event: Event) -> None:
    publish(settings, [message(topic, OWNER, event, f"e{time.monotonic_ns()}")])


def orders(settings: Settings) -> list[dict[str, Any]]:
    """All orders to this owner so far, in whatever partition."""
    consumer = Consumer({"bootstrap.servers": settings.kafka, "group.id": "lab-look", "enable.auto.commit": False})
    found = []
    for part in consumer.list_topics(ERASURES, timeout=10).topics[ERASURES].partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(ERASURES, part), timeout=10)
        if high > low:
            consumer.assign([TopicPartition(ERASURES, part, low)])
            # Behind the last record there is its transaction's marker, which is never handed over.
            found += [json.loads(one.value() or b"") for one in consumer.consume(high - low, 2) if not one.error()]
    consumer.close()
    return [order for order in found if order["owner"] == OWNER]


def owners_line(envelope: dict[str, Any]) -> dict[str, Any]:
    lines = json.loads(b64decode(envelope["payload"]))["predicate"]["lines"]
    return next(line for line in lines if line["entry"] == "owners.artefacts")


def test_an_owner_is_told_pages_through_and_answers(running: Pipeline) -> None:
    settings, key = running.settings, Ed25519PrivateKey.generate()
    public = base64.urlsafe_b64encode(key.public_key().public_bytes_raw()).decode()
    (running.home / "owners.json").write_text(json.dumps({OWNER: public}))
    tell = {"conversation": "c1", "role": "user", "at": "2026-01-01T09:00:00Z"}
    running.publish(
        tell | {"user": "lab-anna", "message_id": "m1", "text": "Please remember that my favourite editor is Vim."},
        tell | {"user": "lab-ben", "message_id": "m1", "text": "Please remember that my favourite tea is Oolong."},
        tenant="default",
    )
    anna = running.ask("memories", "--subject", "lab-anna")["memories"][0]["id"]
    ben = running.ask("memories", "--subject", "lab-ben")["memories"][0]["id"]
    for artefact, parents in (
        ("eval-sample-1", ({"memory": anna},)),
        ("eval-sample-2", ({"subject": "lab-anna", "message": "m1"},)),
        ("skill-1", ({"memory": anna}, {"memory": ben})),
    ):
        event = Derivation(
            owner=OWNER, artefact=artefact, kind="sample", tenant="default", parents=parents, at=datetime.now(UTC)
        )
        send(settings, DERIVATIONS, event)
    running.wait()

    asked = {"subject": "lab-anna", "query": "Which editor?"}
    recalled = running.call("agent", "POST", "/v1/recall", json=asked).json()
    assert [item["id"] for item in recalled["items"]] == [anna]

    tree = running.obelus("lineage", anna).stdout.decode()
    assert all(word in tree for word in ("turn", "candidate", "decision", "vector", f"of {OWNER}"))
    assert "Vim" not in tree and "eval-sample" not in tree
    opened = running.obelus("lineage", anna, "--open").stdout.decode()
    assert "Vim" in opened and "eval-sample-1" in opened and "eval-sample-2" in opened
    document = running.ask("lineage", anna)
    kinds = {entity["prov:type"].partition(":")[2] for entity in document["entity"].values()}
    assert kinds >= {"turn", "candidate", "decision", "memory", "vector", "artefact", "window", "trace", "cached"}
    assert running.obelus("lineage", anna, "--dot").stdout.startswith(b"digraph")
    running.obelus("lineage", "ab" * 16, expect=1)
    running.obelus("lineage", "nonsense", expect=2)

    answer = running.ask("forget", "--subject", "lab-anna", "--wait")
    assert answer["state"] == "verified" and owners_line(answer["receipt"])["status"] == "external"
    running.obelus("lineage", anna, expect=1)
    [waits] = [one for one in running.ask("erasures")["erasures"] if one["request_id"] == answer["request_id"]]
    assert "owners.artefacts: owner_silent" in waits["waiting_for"]
    until(lambda: len(orders(settings)) == 2, 30, "the owner is told")
    by_action = {order["action"]: order for order in orders(settings)}
    named = {}
    for action, order in by_action.items():
        shown = running.call("compliance", "GET", order["artefacts"]["page"]).json()
        named[action] = sorted(one["artefact"] for one in shown["artefacts"])
        salt = base64.urlsafe_b64decode(shown["salt"] + "==")
        assert digest_of(salt, named[action]) == order["artefacts"]["digest"] == shown["digest"]
        assert shown["next"] is None and shown["count"] == order["artefacts"]["count"]
    assert named == {"erase": ["eval-sample-1", "eval-sample-2"], "recompute": ["skill-1"]}
    page = by_action["erase"]["artefacts"]["page"]
    assert running.call("agent", "GET", page).status_code == 403
    assert running.call("compliance", "GET", page.replace(OWNER, "other")).status_code == 404

    for order in by_action.values():
        ack = ErasureAck(
            erasure_id=order["erasure_id"],
            challenge=order["challenge"],
            owner=OWNER,
            state="done",
            expected=order["artefacts"]["count"],
        )
        signature = base64.urlsafe_b64encode(key.sign(signed_text(ack))).decode()
        send(settings, ACKS, ack.model_copy(update={"signature": signature}))

    def acknowledged() -> bool:
        return owners_line(running.ask("receipt", "show", answer["erasure_id"]))["status"] == "erased"

    until(acknowledged, 90, "a newer receipt says so")


def test_an_edit_reaches_the_owner_of_what_the_older_text_became(running: Pipeline) -> None:
    """W1, D8: nobody asked for an erasure; the purger writes one and tells."""
    settings = running.settings
    said = Turn(
        tenant="default",
        subject="lab-cara",
        conversation="c1",
        message_id="m1",
        role=Role.USER,
        text="Please remember that my favourite editor is Vim.",
        at=datetime(2026, 1, 1, 9, tzinfo=UTC),
    )
    publish(settings, [message(TURNS, "default:lab-cara", said, "cara-1")])
    running.wait()
    [cara] = [one["id"] for one in running.ask("memories", "--subject", "lab-cara")["memories"]]
    event = Derivation(
        owner=OWNER,
        artefact="cara-sample",
        kind="sample",
        tenant="default",
        parents=({"memory": cara},),
        at=datetime.now(UTC),
    )
    send(settings, DERIVATIONS, event)
    running.wait()
    exported = running.ask("export", "--subject", "lab-cara")
    assert exported["manifest"]["artefacts"] == 1 and exported["artefacts"][0]["artefact"] == "cara-sample"
    edited = said.model_copy(update={"text": "Good morning.", "revision": 1})
    publish(settings, [message(TURNS, "default:lab-cara", edited, "cara-2")])

    def named() -> set[str]:
        pages = [running.call("compliance", "GET", order["artefacts"]["page"]).json() for order in orders(settings)]
        return {one["artefact"] for page in pages for one in page["artefacts"]}

    until(lambda: "cara-sample" in named(), 60, "the owner is told")
    assert [one for one in running.ask("erasures")["erasures"] if one["request_id"].startswith(f"edit.{cara}.")]
