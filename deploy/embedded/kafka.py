"""Apache Kafka as one node that is broker and controller."""

from __future__ import annotations

import base64
import subprocess
import uuid
from pathlib import Path
from typing import Any

from deploy.embedded import jars, java
from deploy.embedded.part import Part, Progress
from deploy.embedded.ports import HOST, is_open
from deploy.embedded.process import Command

# The JVM compiles little: one node starts in two seconds and is never the bottleneck for long.
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss",
)
MAX_MESSAGE = 16 * 1024 * 1024 + 64 * 1024
"""A turn of 16 MiB with its headers must arrive, so that it can be refused by name."""

_SETTINGS: dict[str, str | int] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 4,
    "message.max.bytes": MAX_MESSAGE,
    "replica.fetch.max.bytes": MAX_MESSAGE,
    # With the default of 9 s a node that was killed waits 12 s for its own old registration.
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 500,
    # A dead consumer is noticed in seconds; the default of both time-outs is 45 s.
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.min.session.timeout.ms": 6000,
    "group.consumer.heartbeat.interval.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 1000,
    # A dead producer's open transaction holds readers back until it is swept.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    # What is deleted leaves the disk in seconds, so that a receipt can say so.
    "log.segment.delete.delay.ms": 1000,
    "log.retention.check.interval.ms": 2000,
    "log.cleaner.backoff.ms": 1000,
    "log.initial.task.delay.ms": 1000,
    "log.cleaner.dedupe.buffer.size": 16_777_216,
}


class Kafka(Part):
    """The broker; data under `kafka/`."""

    name = "kafka"
    _port = 0
    _controller = 0
    _class_path = ""
    _java = ""
    _admin: Any = None

    @property
    def address(self) -> str:
        """Bootstrap servers."""
        return f"{HOST}:{self._port}"

    @property
    def _folder(self) -> Path:
        return self.place.folder("kafka")

    @property
    def _file(self) -> Path:
        return self._folder / "server.properties"

    def prepare(self, progress: Progress) -> None:
        """Fetch jars, write the settings, format the folder once."""
        self._java = java.find()
        self._class_path = jars.class_path(progress)
        self._port = self.place.ports.take("kafka")
        self._controller = self.place.ports.take("kafka-controller")
        settings = _SETTINGS | {
            "log.dirs": str(self._folder / "data"),
            "listeners": f"PLAINTEXT://{HOST}:{self._port},CONTROLLER://{HOST}:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self._port}",
            "controller.quorum.bootstrap.servers": f"{HOST}:{self._controller}",
        }
        self._file.write_text("".join(f"{k}={v}\n" for k, v in settings.items()), "utf-8")
        if not (self._folder / "data" / "meta.properties").exists():
            self._format()

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # The id is an argument of its own, and one that starts with a dash would be an option.
        cluster = "O" + cluster[1:]
        tool = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._file)]
        done = subprocess.run(  # noqa: S603
            [*self._jvm(), *tool, "--standalone", "--ignore-formatted"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise OSError(f"formatting failed: {(done.stdout + done.stderr)[-400:]}")

    def _jvm(self) -> list[str]:
        return [self._java, *_JVM, *_LOGGING, "-cp", self._class_path]

    def command(self) -> Command:
        """Kafka's own entry point."""
        return Command([*self._jvm(), "kafka.Kafka", str(self._file)])

    def answers(self) -> bool:
        """Whether it names a broker: only one that is past its old registration does."""
        if not is_open(self._port):
            return False
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            # Its log would go to our standard error; what matters is raised as well.
            self._admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        try:
            return bool(self._admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False
