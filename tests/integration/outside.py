"""An outside owner with its key, and the purger by hand."""

from __future__ import annotations

import base64
import json
import secrets
from datetime import UTC, datetime
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.acknowledgement import signed_text
from policy.verification import load_keys, verify
from schemas.events import Deletion, Derivation, ErasureAck, Event, Selector
from schemas.settings import Settings
from schemas.topics import ACKS, DERIVATIONS, ERASURES
from schemas.words import SelectorKind
from stores.artefacts import digest_of, page
from stores.signing import public_keys_file
from streams.codec import Position, Record, message
from tests.integration.test_erasure import Hand
from tests.seeding import Seeded


class Owners(Hand):
    """The purger by hand, and an owner with its key."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.key = Ed25519PrivateKey.generate()
        raw = base64.urlsafe_b64encode(self.key.public_key().public_bytes_raw()).decode()
        settings.owners_file.write_text(json.dumps({"evals": raw, "skills": raw}))
        self.tenant = secrets.token_hex(4)
        self.erasures: set[str] = set()

    def hear(self, topic: str, event: Event, *, at: int | None = None) -> Any:
        """One record, one batch; ``at`` is a position that was there before."""
        if at is None:
            self._at += 1
        item = message(topic, "k", event, secrets.token_hex(8))
        now = int(datetime.now(UTC).timestamp() * 1000)
        record = Record(Position(9, 0, at or self._at), topic, item.type, "", "k", item.body, now)
        conn = self.parts.observing()
        ready = self.purger.prepare([record])
        with conn.transaction():
            result = self.purger.decide(ready, self.purger.load(conn, ready))
            self.purger.store(conn, result)
        self.last = result
        return result

    def register(
        self,
        artefact: str,
        *parents: dict[str, str],
        owner: str = "evals",
        at: int | None = None,
        when: datetime | None = None,
    ) -> Any:
        event = Derivation(
            owner=owner,
            artefact=artefact,
            kind="sample",
            tenant=self.tenant,
            parents=parents,
            at=when or datetime.now(UTC),
        )
        return self.hear(DERIVATIONS, event, at=at)

    def told(self) -> list[dict[str, Any]]:
        """Orders that were published, oldest first; the outbox is emptied."""
        rows = (
            self.parts.observing()
            .execute("DELETE FROM outbox WHERE topic = %s RETURNING id, key, body", (ERASURES,))
            .fetchall()
        )
        orders = [orjson.loads(body) | {"key": key} for _, key, body in sorted(rows)]
        return [order for order in orders if order["erasure_id"] in self.erasures]

    def answer(self, order: dict[str, Any], state: str = "done", **changes: Any) -> str | None:
        """Answer an order, signed; return why it was refused."""
        key = changes.pop("key", self.key)
        values = {
            "erasure_id": order["erasure_id"],
            "challenge": order["challenge"],
            "owner": order["owner"],
            "state": state,
            "expected": order["artefacts"]["count"] if state == "done" else None,
            "evidence": "job 17",
        } | changes
        ack = ErasureAck(**values)
        if key is not None:
            signature = base64.urlsafe_b64encode(key.sign(signed_text(ack))).decode().rstrip("=")
            ack = ack.model_copy(update={"signature": signature})
        letters = self.hear(ACKS, ack).dead_letters
        return letters[0].reason if letters else None

    def forget(self, subject: str, kind: SelectorKind = SelectorKind.SUBJECT, **selector: Any) -> bytes:
        event = Deletion(
            request_id=secrets.token_hex(6),
            tenant=self.tenant,
            requested_by="officer",
            selector=Selector(kind=kind, subject=subject, **selector),
        )
        erasure = self.send(event)
        self.erasures.add(erasure.hex())
        return erasure

    def line(self, erasure: bytes) -> tuple[str, str | None]:
        """What the newest receipt says of the owners: status and reason."""
        trusted = load_keys(public_keys_file(self.settings).read_bytes())
        verdict = verify(self.receipts(erasure)[-1][0], trusted)
        assert verdict.valid
        [found] = [line for line in verdict.predicate["lines"] if line["entry"] == "owners.artefacts"]
        return found["status"], found.get("reason")

    def names(self, order: dict[str, Any]) -> list[str]:
        """What the page of an order names; the digest holds."""
        number = int(order["artefacts"]["page"].rpartition("=")[2])
        lookup = self.parts.vault.lookup(self.tenant)
        assert lookup is not None
        erasure = bytes.fromhex(order["erasure_id"])
        shown = page(self.parts.observing(), lookup, erasure, order["owner"], order=number)
        assert shown is not None
        names = sorted(one["artefact"] for one in shown.artefacts)
        if names:
            assert digest_of(shown.salt, names) == order["artefacts"]["digest"]
        return names


def memories(owners: Owners, seeded: Seeded) -> list[dict[str, str]]:
    rows = (
        owners.parts.observing()
        .execute("SELECT id FROM memories WHERE handle = %s ORDER BY id", (seeded.handle,))
        .fetchall()
    )
    return [{"memory": row[0].hex()} for row in rows]


def edges(owners: Owners) -> int:
    query = "SELECT count(*) FROM derivations d JOIN artefacts a ON a.id = d.artefact WHERE a.tenant = %s"
    tenant = owners.parts.vault.tenant_ref(owners.tenant)
    return owners.parts.observing().execute(query, (tenant,)).fetchone()[0]
