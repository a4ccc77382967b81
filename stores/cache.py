"""The client of Redis or Valkey, and the keys that we use there. Values are sealed; keys hold no natural id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis import Redis
from redis.client import Pipeline
from redis.exceptions import RedisError

from schemas.errors import PartUnavailable
from schemas.settings import Settings

Client = Redis | Pipeline

# A cache that does not answer at once is slower than doing without.
CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 1.0

PREFIXES = ("window", "recall", "names")
"""First words of our keys; the erasers look for nothing else."""

# Keeps a value and notes its key in one step, so that all keys of a handle are found without walking over everybody's.
# A note goes with the first write after its key has ended, and all of them with the last key.
_KEEP = """
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time, life = redis.call('TIME'), tonumber(ARGV[2])
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + life, KEYS[1])
if redis.call('PTTL', KEYS[2]) < life then redis.call('PEXPIRE', KEYS[2], life) end
return 1
"""
_KEEP_UNLESS_CHANGED = f"if (redis.call('GET', KEYS[1]) or '') ~= ARGV[3] then return 0 end\n{_KEEP}"


def redis_client(settings: Settings, patience: float = ANSWER_SECONDS) -> Redis:
    """Give a client whose answers are bytes; it connects with the first command.

    Args:
        settings: where Redis is.
        patience: seconds to wait for an answer, and at most for a connection.
    """
    settings.require("redis")
    client: Redis = Redis.from_url(
        settings.redis,
        socket_connect_timeout=min(CONNECT_SECONDS, patience),
        socket_timeout=patience,
        client_name="obelus",
    )
    return client


def check(client: Redis) -> None:
    """Ask for an answer.

    Raises:
        PartUnavailable: there is none.
    """
    with translated():
        client.ping()


def window_key(handle: bytes, epoch: int, conversation: bytes) -> str:
    """Return the key of a session window; ``conversation`` is its keyed hash."""
    return f"window:{handle.hex()}:{epoch}:{conversation.hex()}"


def recall_key(handle: bytes, epoch: int, generation: int, request: bytes) -> str:
    """Return the key of a cached recall; ``request`` is a keyed hash of query and permission."""
    return f"recall:{handle.hex()}:{epoch}:{generation}:{request.hex()}"


def is_recall(key: str) -> bool:
    """Say whether a key is that of a cached recall."""
    return key.startswith("recall:")


def entry_of(key: str) -> bytes:
    """Return the id by which the lineage knows what lies under a key, of a session window as of a cached recall."""
    return bytes.fromhex(key.rpartition(":")[2])


def names_key(handle: bytes) -> str:
    """Return the key under which all keys of a handle are noted."""
    return f"names:{handle.hex()}"


def _notes_of(key: str) -> str:
    return names_key(bytes.fromhex(key.split(":")[1]))


def keep(client: Client, key: str, value: bytes, milliseconds: int, *, before: bytes | None = None) -> Any:
    """Write a value for a time, and its key where the erasers look for it; the only way to write.

    Args:
        client: a client, or a pipeline of one.
        key: one of those made here.
        value: what to keep, sealed.
        milliseconds: how long.
        before: what must lie there for it to be written, b"" for nothing; None for whatever may.

    Returns:
        Whether it was written.
    """
    keys = (key, _notes_of(key))
    if before is None:
        return client.eval(_KEEP, 2, *keys, value, milliseconds)
    return client.eval(_KEEP_UNLESS_CHANGED, 2, *keys, value, milliseconds, before)


def drop(client: Redis, *keys: str) -> None:
    """Delete keys, and the notes of them, in one step."""
    pipe = client.pipeline()
    pipe.delete(*keys)
    for key in keys:
        pipe.zrem(_notes_of(key), key)
    pipe.execute()


def handle_pattern(prefix: str, handle: bytes) -> str:
    """Return the pattern of all keys of one handle under one of `PREFIXES`."""
    return f"{prefix}:{handle.hex()}:*"


@contextmanager
def translated() -> Iterator[None]:
    """Say only that Redis does not answer, whatever it was asked.

    Raises:
        PartUnavailable: it does not.
    """
    try:
        yield
    except RedisError as error:
        raise PartUnavailable(f"Redis: {type(error).__name__}") from None
