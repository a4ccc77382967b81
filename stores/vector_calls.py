"""How calls to Qdrant fail, and how its collection is set up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

import httpx

from schemas.errors import ConfigurationError, PartUnavailable, TransientError, UnknownOutcome
from stores.qdrant_rest import ResourceExhaustedResponse, ResponseHandlingException, UnexpectedResponse, models
from stores.vector_points import FIELDS

# Errors after which the request has certainly not reached the server.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PORT = 6333
_CONFLICT = 409
_TOO_MANY = 429
_UNAVAILABLE = 503
_SERVER_FAULT = 500


T = TypeVar("T")


def address(setting: str) -> str:
    """Return the server's address with Qdrant's own port where none is given."""
    parts = urlsplit(setting)
    place = parts.netloc if parts.port else f"{parts.netloc}:{_PORT}"
    return urlunsplit((parts.scheme, place, parts.path, "", ""))


@contextmanager
def translated() -> Iterator[None]:
    """Turn the client's errors into those of the one error tree; the server's words are dropped.

    Raises:
        PartUnavailable: the server cannot be reached; nothing was done.
        UnknownOutcome: no answer in time, or a lost one: it may have been done, now or later.
        TransientError: the server is overloaded; nothing was done.
        ConfigurationError: the server refuses the request as such.
    """
    try:
        yield
    except ResponseHandlingException as error:
        name = f"Qdrant: {type(error.source).__name__}"
        if isinstance(error.source, _NOT_SENT):
            raise PartUnavailable(name) from None
        raise UnknownOutcome(name) from None
    except ResourceExhaustedResponse:
        raise TransientError("Qdrant: too many requests") from None
    except UnexpectedResponse as error:
        raise _refused(error.status_code or 0) from None


def _refused(status: int) -> Exception:
    message = f"Qdrant: HTTP {status}"
    if status == _UNAVAILABLE:
        return PartUnavailable(message)
    if status >= _SERVER_FAULT:
        return UnknownOutcome(message)
    if status == _TOO_MANY:
        return TransientError(message)
    return ConfigurationError(f"{message}; does the collection belong to this version of Obelus?")


def done(result: models.UpdateResult | None) -> None:
    """Take only ``completed`` for done; ``acknowledged`` is merely written down.

    Raises:
        UnknownOutcome: the server has not applied the call yet.
    """
    if result is None or result.status is not models.UpdateStatus.COMPLETED:
        raise UnknownOutcome("Qdrant: acknowledged, not applied yet")


def given(result: T | None) -> T:
    """Take an answer's content.

    Raises:
        UnknownOutcome: there is none.
    """
    if result is None:
        raise UnknownOutcome("Qdrant: an answer without a result")
    return result


def already_there(error: UnexpectedResponse) -> bool:
    """Tell whether another process made the same thing first."""
    return error.status_code == _CONFLICT


STRICT = models.StrictModeConfig(
    enabled=True,
    unindexed_filtering_retrieve=False,
    unindexed_filtering_update=False,
    max_query_limit=10_000,
)
# Every search is filtered to one handle: a graph over all subjects would serve nothing.
HNSW = models.HnswConfigDiff(m=0, payload_m=16)
# One deleted point is enough for a rebuild, where the segment has the hundred that a server asks for.
OPTIMIZERS = models.OptimizersConfigDiff(deleted_threshold=0.0, vacuum_min_vector_number=100, flush_interval_sec=1)
# Deleted bytes leave the log only when it rotates.
WAL = models.WalConfigDiff(wal_capacity_mb=1, wal_segments_ahead=0)


def index_params(field: str) -> models.PayloadSchemaType | models.KeywordIndexParams:
    """Return the index of a payload field."""
    if field == "handle":
        # Points of one subject are stored together.
        return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return models.PayloadSchemaType(FIELDS[field])
