"""Three people, canaries in everything that can be said; one is erased while every cache is warm.

Every canary of the one is gone from what each store answers, at once, in every process; its bytes are where the receipt
says that they still are, until the date it says, and nowhere else. Everything of the other two is served as before.
"""

from __future__ import annotations

import json
import secrets
import time
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from deploy.audit.forms import forms
from deploy.audit.live import ask
from deploy.audit.scan import scan
from deploy.audit.subject import what_is_left
from policy.verification import load_keys, verify
from stores.database import connect
from stores.signing import public_keys_file
from stores.vault import open_vault
from tests import running as whole
from tests.integration.recall.test_cache import api, hits
from tests.running import Pipeline

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TENANT = "default"
PLACES = ("value", "key", "quote", "pasted", "window", "metadata", "trace")
_SHOWN = ("value", "key", "quote")
"""What can be read back through the API; the rest is only kept."""
_RECEIPT_WITHIN = 180.0


@dataclass(frozen=True)
class Person:
    """A subject and the canaries that are planted under it."""

    name: str
    birds: dict[str, str]

    @property
    def query(self) -> str:
        """What is asked; traces keep it."""
        return f"What do I love, {self.birds['trace']}?"

    def turns(self) -> list[dict[str, Any]]:
        """One turn a place, as a platform would publish them."""
        bird = self.birds
        segments = [
            {"text": "I got this mail, see below. I enjoy rowing.", "origin": "typed"},
            {"text": f"Dear customer, your pet is called {bird['pasted']}.", "origin": "pasted"},
        ]
        return [
            self._turn("value", f"I love {bird['value']} tea."),
            self._turn("key", f"Please remember that my locker says {bird['key']} on its door."),
            self._turn("quote", f"My favourite {bird['quote']} is blue."),
            self._turn("pasted", None, segments=segments),
            self._turn("window", f"Of course, {bird['window']} it is.", role="assistant"),
            self._turn("metadata", "I like chess.", metadata={bird["metadata"]: [bird["metadata"]]}),
        ]

    def _turn(self, name: str, text: str | None, **fields: Any) -> dict[str, Any]:
        event = {
            "tenant": TENANT,
            "subject": self.name,
            "conversation": f"c-{self.name}",
            "message_id": f"m-{name}",
            "role": "user",
            "text": text,
            "at": datetime.now(UTC).isoformat(),
        }
        return {key: value for key, value in (event | fields).items() if value is not None}


def person(name: str) -> Person:
    return Person(f"{name}-{secrets.token_hex(3)}", {place: f"kanarie{secrets.token_hex(6)}" for place in PLACES})


GONE, *STAY = people = [person("anna"), person("ben"), person("cleo")]


@dataclass(frozen=True)
class Drill:
    """The stack, its own API and a second one."""

    pipeline: Pipeline
    addresses: list[str]

    def recalled(self, address: str, one: Person) -> str:
        """Everything that one process says of a person; a busy machine may be late."""
        body = {"subject": one.name, "query": one.query, "limit": 8}
        until = time.monotonic() + 90
        while True:
            asked = httpx.post(
                f"{address}/v1/recall", json=body, headers=self._bearer("agent"), timeout=30, trust_env=False
            )
            found = self._checked(asked)
            if not found["degraded"]:
                return json.dumps(found["items"], ensure_ascii=False)
            assert time.monotonic() < until, "the read side stays degraded"
            time.sleep(0.1)

    def listed(self, one: Person) -> str:
        return json.dumps(self.pipeline.ask("memories", "--tenant", TENANT, "--subject", one.name, "--all"))

    def exported(self, one: Person) -> str:
        return json.dumps(self.pipeline.ask("export", "--tenant", TENANT, "--subject", one.name), ensure_ascii=False)

    def _bearer(self, role: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.pipeline.token(role)}"}

    @staticmethod
    def _checked(answer: httpx.Response) -> Any:
        assert answer.status_code == 200, answer.text
        return answer.json()

    def bytes_of(self, one: Person) -> set[str]:
        """The stores in whose files something of a person can be read."""
        wanted = {bird: forms(bird) for bird in one.birds.values()}
        return {hit.store for hit in scan(self.pipeline.home, wanted)}

    def answers_of(self, one: Person) -> list[Any]:
        """What tables, cache and index show of a person when asked for everything."""
        return list(ask(self.pipeline.settings, {bird: forms(bird) for bird in one.birds.values()}))

    def receipts(self, erasure: str) -> list[tuple[bytes, bytes]]:
        query = "SELECT envelope, evidence FROM receipts WHERE erasure = %s ORDER BY seq"
        with connect(self.pipeline.settings.database, autocommit=True) as conn:
            return conn.execute(query, (bytes.fromhex(erasure),)).fetchall()


@pytest.fixture(scope="module")
def drill() -> Iterator[Drill]:
    """A stack of its own: open dead letters of other tests would hold its log back."""
    with whole.running() as pipeline:
        pipeline.publish(*(turn for one in people for turn in one.turns()), tenant=TENANT)
        with api(pipeline.settings, 1) as others:
            yield Drill(pipeline, [pipeline.settings.api, *others])


def lines_of(envelope: bytes) -> dict[str, dict[str, Any]]:
    statement = json.loads(b64decode(json.loads(envelope)["payload"]))
    return {line["entry"]: line for line in statement["predicate"]["lines"]}


def served(drill: Drill, one: Person) -> None:
    """All that may be read of a person is there, everywhere."""
    for address in drill.addresses:
        assert one.birds["value"] in drill.recalled(address, one)
    told = drill.listed(one)
    memories = json.loads(told)["memories"]
    assert any(one.birds["key"] in memory["key"] for memory in memories)
    assert any(
        one.birds["quote"] in memory["quote"] and one.birds["quote"] not in memory["value"] for memory in memories
    )
    assert [place for place in _SHOWN if one.birds[place] not in told] == []
    whole_story = drill.exported(one)
    assert [place for place in (*_SHOWN, "pasted", "window") if one.birds[place] not in whole_story] == []


def test_one_is_erased_everywhere_and_the_others_stay(drill: Drill) -> None:
    settings = drill.pipeline.settings
    warm(drill)
    # Before: everything is there to be found, or the searches below would prove nothing.
    before = what_is_left(settings, TENANT, GONE.name)["counts"]
    assert all(before[store] for store in ("postgres", "qdrant", "redis", "vault")), before
    assert traces(drill, GONE) > 0
    assert all("kafka" in drill.bytes_of(one) for one in people)
    for one in people:
        served(drill, one)
        assert drill.answers_of(one) == [], "what a store answers is sealed"
        assert drill.bytes_of(one) == {"kafka"}

    answer = drill.pipeline.ask("forget", "--tenant", TENANT, "--subject", GONE.name, "--wait")
    assert answer["state"] in ("verified", "final")
    silent(drill)
    first = drill.receipts(answer["erasure_id"])[0][0]
    allowed(drill, lines_of(first), datetime.now(UTC))

    newest = until_final(drill, answer["erasure_id"])
    trusted = load_keys(public_keys_file(settings).read_bytes())
    chain = [envelope for envelope, _ in drill.receipts(answer["erasure_id"])]
    envelope, evidence = newest
    assert verify(envelope, trusted, evidence=evidence, chain=chain).valid
    lines = lines_of(envelope)
    assert lines["inbound_logs.memory.turns"]["proven"] == ["absent", "compacted", "fenced"]
    assert lines["qdrant.memories"]["proven"] == ["absent", "compacted", "fenced", "spoiled"]
    allowed(drill, lines, datetime.now(UTC))
    assert drill.bytes_of(GONE) == set()

    silent(drill)
    for one in STAY:
        served(drill, one)
    assert drill.pipeline.ask("audit")["drift"] == []


def warm(drill: Drill) -> None:
    """Ask until each process answers from what it has kept."""
    for address in drill.addresses:
        kept = hits(address)
        for _ in range(3):
            for one in people:
                assert one.birds["value"] in drill.recalled(address, one)
        assert hits(address) >= kept + len(people)


def silent(drill: Drill) -> None:
    """Nothing of the erased person is said or held, by whatever way one asks."""
    for _ in range(2):
        for address in drill.addresses:
            assert drill.recalled(address, GONE) == "[]"
    for told in (drill.listed(GONE), drill.exported(GONE)):
        assert [place for place, bird in GONE.birds.items() if bird in told] == []
    assert drill.answers_of(GONE) == []
    left = what_is_left(drill.pipeline.settings, TENANT, GONE.name)
    assert left["state"] == "erased" and left["erased_but_there"] == {} and not any(left["counts"].values())


def traces(drill: Drill, one: Person) -> int:
    vault = open_vault(drill.pipeline.settings)
    lookup = vault.lookup(TENANT)
    vault.close()
    assert lookup is not None
    query = "SELECT count(*) FROM traces JOIN subjects USING (handle) WHERE ref = %s"
    with connect(drill.pipeline.settings.database, autocommit=True) as conn:
        row = conn.execute(query, (lookup.subject(one.name),)).fetchone()
    return int(row[0]) if row else 0


def allowed(drill: Drill, lines: dict[str, dict[str, Any]], now: datetime) -> None:
    """Bytes lie where a line says `expires`, with a date to come, and nowhere else."""
    dated = {
        "kafka"
        for line in lines.values()
        if line["status"] == "expires" and datetime.fromisoformat(line["expiresAt"]) > now
        if line["entry"].startswith("inbound_logs.")
    }
    assert drill.bytes_of(GONE) <= dated


def until_final(drill: Drill, erasure: str) -> tuple[bytes, bytes]:
    """Wait until the newest receipt has nothing left to rise."""
    until = time.monotonic() + _RECEIPT_WITHIN
    while True:
        newest = drill.receipts(erasure)[-1]
        if json.loads(b64decode(json.loads(newest[0])["payload"]))["predicate"]["state"] == "final":
            return newest
        assert time.monotonic() < until, lines_of(newest[0])
        time.sleep(0.5)
