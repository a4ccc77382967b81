"""The client of Redis or Valkey, and the keys that we use there. Values are sealed; keys hold no natural id."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import RedisError

from schemas.errors import PartUnavailable
from schemas.settings import Settings

# A cache that does not answer at once is slower than doing without.
CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 1.0

PREFIXES = ("window", "recall")
"""First words of our keys; the erasers look for nothing else."""


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
    try:
        client.ping()
    except RedisError as error:
        raise PartUnavailable(f"Redis: {type(error).__name__}") from None


def window_key(handle: bytes, epoch: int, conversation: bytes) -> str:
    """Return the key of a session window; ``conversation`` is its keyed hash."""
    return f"window:{handle.hex()}:{epoch}:{conversation.hex()}"


def recall_key(handle: bytes, epoch: int, generation: int, request: bytes) -> str:
    """Return the key of a cached recall; ``request`` is a keyed hash of query and permission."""
    return f"recall:{handle.hex()}:{epoch}:{generation}:{request.hex()}"


def recall_entry(key: str) -> bytes:
    """Return the id by which the lineage knows what lies under a key of a cached recall."""
    return bytes.fromhex(key.rpartition(":")[2])


def handle_pattern(prefix: str, handle: bytes) -> str:
    """Return the pattern of all keys of one handle under one of `PREFIXES`."""
    return f"{prefix}:{handle.hex()}:*"
