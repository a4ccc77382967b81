from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from benchmarks.memories import Loader
from recall.api.context import Context, open_context
from recall.api.main import server
from schemas.settings import Settings

TOKENS = {
    "t-agent": {"tenant": "default", "role": "agent"},
    "t-ana": {"tenant": "default", "role": "person", "subject": "ana"},
    "t-other": {"tenant": "other", "role": "agent"},
    "t-compliance": {"tenant": "default", "role": "compliance"},
    "t-operator": {"tenant": "default", "role": "operator"},
    "t-wild": {"tenant": "*", "role": "operator"},
}


@pytest.fixture(scope="module")
def loader(settings: Settings) -> Iterator[Loader]:
    loader = Loader(settings)
    yield loader
    loader.close()


@pytest.fixture(scope="module")
def context(settings: Settings, loader: Loader) -> Iterator[Context]:
    settings.tokens_file.write_text(json.dumps(TOKENS))
    with pytest.MonkeyPatch.context() as patch:
        # A busy machine would be late, and these tests are about answers; being late has tests of its own.
        patch.setattr("recall.api.recalls.RECALL_SECONDS", 60.0)
        with pytest.MonkeyPatch.context() as opening:
            opening.setattr("recall.pool._OPTIONS", "-c synchronous_commit=off")
            opening.setattr("recall.api.context.SEARCH_SECONDS", 30)
            context = open_context(settings)
        # These tests change rows behind the writers' backs, who would raise the generation;
        # test_cache.py has the cache.
        context.recall._parts = replace(context.recall._parts, cache=None)
        yield context
        context.close()


@pytest.fixture(scope="module")
def api(context: Context) -> Iterator[httpx.Client]:
    """The API on a real socket."""
    running = server(context, "127.0.0.1", 0)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
        yield client
    running.should_exit = True
    thread.join(60)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
