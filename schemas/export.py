"""JSON Schemas and the AsyncAPI document, generated from the models; the generated files are checked in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schemas.events import EVENT_TYPES
from schemas.topics import TOPICS

FOLDER = Path(__file__).parent / "json"
_KEYS = {"tenant:subject": "tenant and subject joined by a colon"}


def json_schemas() -> dict[str, dict[str, Any]]:
    """One JSON Schema an event type, as a producer has to send it, keyed by event type."""
    return {name: model.model_json_schema(mode="validation") for name, model in EVENT_TYPES.items()}


def asyncapi() -> dict[str, Any]:
    """The topics and their messages as an AsyncAPI 3 document."""
    channels = {
        topic.name: {
            "address": topic.name,
            "description": f"Key: {_KEYS.get(topic.key, topic.key)}. "
            + ("Written by others." if topic.inbound else "Written by Obelus; carries no content."),
            "messages": {event: {"$ref": f"#/components/messages/{event}"} for event in topic.events},
            "bindings": {
                "kafka": {
                    "partitions": topic.partitions,
                    "topicConfiguration": _binding(topic.config),
                }
            },
        }
        for topic in TOPICS
    }
    operations = {
        f"{'receive' if topic.inbound else 'send'}.{topic.name}": {
            "action": "receive" if topic.inbound else "send",
            "channel": {"$ref": f"#/channels/{topic.name}"},
        }
        for topic in TOPICS
    }
    messages = {
        name: {
            "name": name,
            "contentType": "application/json",
            "payload": {"$ref": f"./{name}.json"},
            "bindings": {"kafka": {"key": {"type": "string"}}},
        }
        for name in EVENT_TYPES
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Obelus",
            "version": "1",
            "description": "Governed memory for agents: its event log.",
        },
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages},
    }


def _binding(config: dict[str, str]) -> dict[str, Any]:
    known = {
        "cleanup.policy": [config["cleanup.policy"]],
        "retention.ms": int(config["retention.ms"]),
    }
    if "max.message.bytes" in config:
        known["max.message.bytes"] = int(config["max.message.bytes"])
    return known


def rendered() -> dict[str, str]:
    """File name to text of everything that is generated."""
    files = {f"{name}.json": schema for name, schema in json_schemas().items()} | {"asyncapi.json": asyncapi()}
    return {name: json.dumps(content, indent=2, sort_keys=True) + "\n" for name, content in files.items()}


def write(folder: Path = FOLDER) -> None:
    """Write all generated files into ``folder``."""
    folder.mkdir(exist_ok=True)
    for name, text in rendered().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
