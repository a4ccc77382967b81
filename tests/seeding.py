"""Puts a subject with everything the pipeline would have made into the stores, without the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import orjson

from schemas.settings import Settings
from schemas.words import MemoryType, Sensitivity, Visibility
from stores.cache import keep, recall_key, redis_client, window_key
from stores.database import connect
from stores.subjects import ensure_subjects
from stores.vault import Vault, open_vault
from stores.vector_points import Point
from stores.vectors import VectorIndex

DIM = 384
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Seeded:
    tenant: str
    subject: str
    tenant_ref: bytes
    ref: bytes
    handle: bytes
    points: list[bytes]


def seed(settings: Settings, tenant: str, subject: str, memories: int = 3) -> Seeded:
    """Turns, candidates, decisions, memories with versions and sources, points, cache keys."""
    vault = open_vault(settings)
    with connect(settings.database) as conn:
        ref = ensure_subjects(conn, vault, [(tenant, subject)])[tenant, subject]
        handle, epoch = conn.execute("SELECT handle, epoch FROM subjects WHERE ref = %s", (ref,)).fetchone()
        points = _rows(conn, vault, tenant, ref, handle, epoch, memories)
    _points(settings, vault.tenant_ref(tenant), handle, epoch, points)
    with redis_client(settings) as client:
        for key in (window_key(handle, epoch, b"c" * 16), recall_key(handle, epoch, 1, b"r" * 16)):
            keep(client, key, b"sealed", 3_600_000)
    tenant_ref = vault.tenant_ref(tenant)
    vault.close()
    return Seeded(tenant, subject, tenant_ref, ref, handle, [point for point, _ in points])


def _rows(
    conn, vault: Vault, tenant: str, ref: bytes, handle: bytes, epoch: int, count: int
) -> list[tuple[bytes, bytes]]:
    keys = vault.data_keys([handle])[handle]
    tenant_ref = vault.tenant_ref(tenant)
    points = []
    with conn.cursor() as cur:
        for n in range(count):
            turn = keys.id("turn", f"m{n}")
            candidate = keys.id("candidate", turn)
            memory = keys.id("memory", candidate)
            point = keys.id("point", memory, b"1")
            points.append((point, memory))
            body = keys.seal(turn, orjson.dumps({"text": f"canary {n}"}))
            place = (1, 0, n)
            cur.execute(
                "INSERT INTO turns (id, subject, handle, epoch, author, author_epoch, conversation,"
                " revision, role, digest, at, body, log, part, pos)"
                " VALUES (%s,%s,%s,%s,%s,1,%s,0,'user',%s,%s,%s,%s,%s,%s)",
                (turn, ref, handle, epoch, ref, b"c" * 16, b"d", NOW, body, *place),
            )
            cur.execute(
                "INSERT INTO candidates (id, subject, handle, epoch, author, author_epoch, turn,"
                " type, source_type, extractor, body, expires_at, log, part, pos)"
                " VALUES (%s,%s,%s,%s,%s,1,%s,'fact','user_stated','rules',%s,%s,%s,%s,%s)",
                (candidate, ref, handle, epoch, ref, turn, body, NOW.replace(year=2100), *place),
            )
            cur.execute(
                "INSERT INTO decisions (candidate, handle, epoch, outcome, rule, reasons,"
                " policy_version, policy_hash, log, part, pos)"
                " VALUES (%s,%s,%s,'accept','r','{}','1','h',%s,%s,%s)",
                (candidate, handle, epoch, *place),
            )
            cur.execute(
                "INSERT INTO memories (id, subject, tenant, handle, epoch, identity, value_digest,"
                " version, status, type, polarity, source_type, sensitivity, visibility, namespaces,"
                " confidence, importance, explicit, turn_row, valid_from, body)"
                " VALUES (%s,%s,%s,%s,%s,%s,%s,1,'active','fact','neutral','user_stated','none',"
                " 'private','{}',1,1,true,%s,%s,%s)",
                (memory, ref, tenant_ref, handle, epoch, memory, b"v", n, NOW, body),
            )
            cur.execute(
                "INSERT INTO memory_versions (memory, version, handle, epoch, status, actor, rule)"
                " VALUES (%s,1,%s,%s,'active','person','r')",
                (memory, handle, epoch),
            )
            cur.execute(
                "INSERT INTO sources (memory, candidate, turn, handle, author, at, body) VALUES (%s,%s,%s,%s,%s,%s,%s)",
                (memory, candidate, turn, handle, ref, NOW, body),
            )
            edges = (
                ("candidate", candidate, "turn", turn),
                ("decision", candidate, "candidate", candidate),
                ("memory", memory, "decision", candidate),
                ("vector", point, "memory", memory),
            )
            cur.executemany("INSERT INTO lineage VALUES (%s, %s, %s, %s, %s)", [(*edge, handle) for edge in edges])
            cur.execute(
                "INSERT INTO vectors VALUES (%s,%s,1,%s,%s,'written',now())",
                (point, memory, handle, epoch),
            )
    return points


def _points(settings: Settings, tenant: bytes, handle: bytes, epoch: int, points: list[tuple[bytes, bytes]]) -> None:
    index = VectorIndex(settings)
    index.ensure(DIM)
    rows = [
        Point(
            point,
            memory,
            1,
            tenant,
            handle,
            epoch,
            [],
            MemoryType.FACT,
            Sensitivity.NONE,
            Visibility.PRIVATE,
        )
        for point, memory in points
    ]
    vectors = np.random.default_rng(1).normal(size=(len(rows), DIM)).astype(np.float32)
    for start in range(0, len(rows), 500):
        index.upsert(rows[start : start + 500], vectors[start : start + 500])
    index.close()
