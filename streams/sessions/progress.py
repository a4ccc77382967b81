"""How far the sessions app is, kept in Redis beside the windows, so that both are lost together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from confluent_kafka.admin import AdminClient
from redis import Redis

from schemas.topics import TURNS
from stores.cache import translated
from streams.offsets import log_ends

CONSUMER = "sessions"

# Of two owners that overlap for a moment the one behind must not set the position back.
_RAISE = """
local held = tonumber(redis.call('GET', KEYS[1]) or '-1')
if tonumber(ARGV[1]) > held then redis.call('SET', KEYS[1], ARGV[1]) end
return 1
"""


def position_key(topic_id: str, part: int) -> str:
    """The key of one partition's position; it names no subject."""
    return f"position:{CONSUMER}:{topic_id}:{part}"


def read_positions(client: Redis, topic_id: str, parts: Iterable[int]) -> dict[int, int]:
    """Offsets that are next, by partition; one that was never begun is absent.

    Raises:
        PartUnavailable: Redis does not answer.
    """
    wanted = sorted(parts)
    if not wanted:
        return {}
    with translated():
        found = cast("list[bytes | None]", client.mget([position_key(topic_id, part) for part in wanted]))
    return {part: int(value) for part, value in zip(wanted, found, strict=True) if value is not None}


def raise_positions(client: Redis, topic_id: str, nexts: Mapping[int, int]) -> None:
    """Note that everything before these offsets is in its windows.

    Raises:
        PartUnavailable: Redis does not answer.
    """
    with translated():
        for part, following in nexts.items():
            client.eval(_RAISE, 1, position_key(topic_id, part), str(following))


def sessions_lag(admin: AdminClient, client: Redis) -> int:
    """Count the turns that are not in their windows yet.

    Raises:
        PartUnavailable: the broker or Redis does not answer.
    """
    ends = log_ends(admin, [TURNS])
    by_topic: dict[str, list[int]] = {}
    for end in ends:
        by_topic.setdefault(end.topic_id, []).append(end.part)
    reached = {
        (topic_id, part): following
        for topic_id, parts in by_topic.items()
        for part, following in read_positions(client, topic_id, parts).items()
    }
    return sum(max(0, end.high - max(end.low, reached.get((end.topic_id, end.part), end.low))) for end in ends)
