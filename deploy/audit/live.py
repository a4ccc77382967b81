"""Asks the stores themselves, since what they compress on disk no byte scan can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx
from psycopg import sql
from redis import Redis

from deploy.audit.scan import Hit
from schemas.settings import Settings
from stores.cache import redis_client
from stores.database import connect

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
_READERS: dict[bytes | str, Any] = {
    b"string": lambda client, key: client.get(key),
    b"hash": lambda client, key: client.hgetall(key),
    b"list": lambda client, key: client.lrange(key, 0, -1),
    b"set": lambda client, key: client.smembers(key),
    b"zset": lambda client, key: client.zrange(key, 0, -1),
    b"stream": lambda client, key: client.xrange(key),
}


def ask(settings: Settings, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    """Look through tables, cache and index by their own interfaces."""
    yield from _tables(settings, wanted)
    with redis_client(settings) as client:
        yield from _cache(client, wanted)
    yield from _index(settings, wanted)


def _tables(settings: Settings, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    with connect(settings.database, autocommit=True, application="obelus audit") as conn:
        for (table,) in conn.execute(_TABLES).fetchall():
            for canary, forms in wanted.items():
                needles = [_like(form) for form in forms] + [_like(form.hex().encode()) for form in forms]
                query = sql.SQL("SELECT count(*) FROM {t} AS t WHERE t::text LIKE ANY(%s)")
                row = conn.execute(query.format(t=sql.Identifier(table)), (needles,)).fetchone()
                if row and row[0]:
                    yield Hit(canary, "postgres", f"table {table}", row[0])


def _like(form: bytes) -> str:
    text = form.decode("utf-8", "ignore")
    for mark in ("\\", "%", "_"):
        text = text.replace(mark, "\\" + mark)
    return f"%{text}%"


def _cache(client: Redis, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    for key in client.scan_iter(count=1000):
        read = _READERS.get(client.type(key))
        held = _flat(read(client, key)) if read else b""
        for canary, forms in wanted.items():
            if any(form in key or form in held for form in forms):
                shown = key.split(b":")[0].decode("ascii", "replace")
                yield Hit(canary, "redis", f"key {shown}:…", 1)


def _flat(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return b"\n".join(_flat(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set):
        return b"\n".join(map(_flat, value))
    return str(value).encode()


def _index(settings: Settings, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    with httpx.Client(base_url=settings.qdrant, timeout=30, trust_env=False) as client:
        names = [one["name"] for one in client.get("/collections").json()["result"]["collections"]]
        for name in names:
            yield from _collection(client, name, wanted)


def _collection(client: httpx.Client, name: str, wanted: Mapping[str, Iterable[bytes]]) -> Iterator[Hit]:
    found = dict.fromkeys(wanted, 0)
    offset = None
    while True:
        body = {"limit": 1000, "with_payload": True, "offset": offset}
        result = client.post(f"/collections/{name}/points/scroll", json=body).json()["result"]
        for point in result["points"]:
            held = str(point.get("payload")).encode()
            for canary, forms in wanted.items():
                found[canary] += any(form in held for form in forms)
        offset = result.get("next_page_offset")
        if offset is None:
            break
    for canary, count in found.items():
        if count:
            yield Hit(canary, "qdrant", f"collection {name}", count)
