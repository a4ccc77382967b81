"""An indexer and its world, on a database and an index of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from consumers.indexer.consumer import Indexer
from schemas.settings import Settings
from stores.database import connect
from stores.vectors import VectorIndex
from tests.integration.driven import Driven
from tests.integration.indexer.world import World


@pytest.fixture
def world(fresh_settings: Settings) -> Iterator[World]:
    index = VectorIndex(fresh_settings)
    index.ensure(384)
    index.drop()
    driven = Driven(Indexer(fresh_settings), fresh_settings)
    conn = connect(fresh_settings.database)
    made = World(fresh_settings, driven, conn, index)
    made.begin()
    yield made
    conn.close()
    driven.close()
    index.close()
