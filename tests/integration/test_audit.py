"""The byte scan finds a planted text in every store, in every form; the live look finds what is packed."""

from __future__ import annotations

import base64
import json
import secrets
import time
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer

from deploy.audit.batches import opened
from deploy.audit.forms import forms
from deploy.audit.live import ask
from deploy.audit.scan import scan
from schemas.settings import Settings
from stores.cache import redis_client
from stores.database import connect
from stores.vault import open_vault
from streams.topics import apply

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("text", ["我对花生过敏", 'a "quoted" wörd', "plain canary"])
def test_every_form_of_a_text_is_known(text: str) -> None:
    known = forms(text)
    hidden = [
        text.encode(),
        json.dumps({"v": text}).encode(),
        json.dumps({"v": text}, ensure_ascii=False).encode(),
        *(base64.b64encode(b"x" * n + text.encode() + b"tail") for n in range(7)),
        *(base64.urlsafe_b64encode(b"x" * n + json.dumps(text).encode()) for n in range(7)),
    ]
    for data in hidden:
        assert any(form in data for form in known), data


def test_a_torn_segment_ends_the_walk() -> None:
    assert list(opened(b"")) == [] and list(opened(b"\0" * 100)) == []


def plant_in_kafka(settings: Settings, canary: str) -> None:
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": settings.kafka, "compression.type": codec, "linger.ms": 50})
        for _ in range(20):
            # Repeated, so that a codec has something to compress.
            producer.produce("memory.turns", f"{canary}-{codec} ".encode() * 20)
        producer.flush(10)


def plant_in_qdrant(settings: Settings, canary: str) -> None:
    with httpx.Client(base_url=settings.qdrant, trust_env=False) as client:
        vectors = {"vectors": {"size": 4, "distance": "Cosine"}}
        client.delete("/collections/planted")
        client.put("/collections/planted", json=vectors).raise_for_status()
        point = {"id": 1, "vector": [1, 0, 0, 0], "payload": {"note": canary}}
        body = {"points": [point]}
        client.put("/collections/planted/points?wait=true", json=body).raise_for_status()


@pytest.fixture
def planted(stack, settings: Settings) -> tuple[Settings, str]:
    canary = f"canary-{secrets.token_hex(6)}"
    whole = settings.model_copy(update={"home": stack.settings.home, "vault": stack.settings.vault})
    whole = whole.model_copy(update={"root_key_file": stack.settings.root_key_file})
    apply(whole)
    plant_in_kafka(whole, canary)
    with connect(whole.database, autocommit=True) as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS planted (note text)")
        conn.execute("INSERT INTO planted VALUES (%s)", (canary,))
        conn.execute("CHECKPOINT")
    with redis_client(whole) as client:
        client.set("window:planted", canary)
    plant_in_qdrant(whole, canary)
    vault = open_vault(whole)
    vault.add_tombstones([canary.encode()])
    vault.close()
    (Path(whole.home) / "logs").mkdir(exist_ok=True)
    (Path(whole.home) / "logs" / "planted.log").write_text(f"said {canary}")
    time.sleep(1.5)
    return whole, canary


def test_a_planted_text_is_found_in_every_store(planted: tuple[Settings, str]) -> None:
    settings, canary = planted
    hits = list(scan(settings.home, {canary: forms(canary)}))
    assert {hit.store for hit in hits} == {"kafka", "postgres", "redis", "qdrant", "vault", "files"}
    assert all(hit.count and hit.file for hit in hits)
    places = {hit.file.split("/")[0] for hit in hits}
    assert {"kafka", "postgres", "valkey", "vectors", "vault", "logs"} <= places
    assert any("pg_wal" in hit.file for hit in hits) and any("base" in hit.file for hit in hits)


def test_compressed_batches_are_opened(planted: tuple[Settings, str]) -> None:
    settings, canary = planted
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        text = f"{canary}-{codec}"
        hits = [hit for hit in scan(settings.home, {text: forms(text)}) if hit.store == "kafka"]
        assert sum(hit.count for hit in hits) >= 20, codec


def test_the_stores_themselves_are_asked_too(planted: tuple[Settings, str]) -> None:
    settings, canary = planted
    hits = list(ask(settings, {canary: forms(canary)}))
    assert {hit.store for hit in hits} == {"postgres", "redis", "qdrant"}
    nothing = secrets.token_hex(12)
    assert list(ask(settings, {nothing: forms(nothing)})) == []
    assert list(scan(settings.home, {nothing: forms(nothing)})) == []
