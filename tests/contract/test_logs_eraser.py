"""The inbound logs under the erasers' contract: what one erasure covers is what lies below its fence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from schemas.eraser import Eraser, Scope
from schemas.settings import Settings
from schemas.topics import TURNS
from tests.contract.faults import Faulty
from tests.contract.test_erasers import EraserContract, opened
from tests.logs import Logs

pytestmark = [pytest.mark.contract, pytest.mark.integration]


@dataclass
class Written:
    """Records of one person; ``scope`` covers them."""

    subject: str
    scope: Scope


def _timed_out() -> KafkaException:
    return KafkaException(KafkaError(KafkaError._TIMED_OUT))


class TestLogs(EraserContract):
    """``gone`` wrote before the fence, ``stays`` after it, and everybody has read as far as the fence."""

    eraser = "logs"

    @pytest.fixture(autouse=True)
    def _logs(self, settings: Settings, topics: None) -> None:
        self.logs = opened(Logs(settings))

    @pytest.fixture
    def gone(self) -> Written:
        self.logs.say(*"abcdefg", subject="gone")
        self.logs.read_by("extractor")
        return Written("gone", self.logs.scope())

    @pytest.fixture
    def stays(self, gone: Written) -> Written:
        self.logs.say(*"xyz", subject="stays")
        return Written("stays", self.logs.scope())

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        admin: Any = self.logs.admin
        proxy = None
        if fault:
            proxy = admin = Faulty(admin, ("delete_records",), fault, _timed_out, pretended={})
        return self.logs.eraser(admin=admin), proxy

    def scope(self, seeded: Written) -> Scope:
        return seeded.scope

    def left(self, settings: Settings, seeded: Any) -> int:
        if seeded.subject == "gone":
            return super().left(settings, seeded)
        # Not what its own erasure would meet, which is everybody's, but its records.
        return sum(self._records(end.part, end.low, end.high) for end in self.logs.ends())

    def _records(self, part: int, low: int, high: int) -> int:
        from confluent_kafka import Consumer

        reader = Consumer({"bootstrap.servers": self.logs.settings.kafka, "group.id": "counting"})
        reader.assign([TopicPartition(TURNS, part, low)])
        found, at = 0, low
        while at < high:
            item = reader.poll(5)
            if item is None:
                break
            found, at = found + (item.key() == b"acme:stays"), (item.offset() or 0) + 1
        reader.close()
        return found
