"""Outside owners under the erasers' contract: an owner of this test's answers each order, signed, or does it wrong."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumers.purger.owners.eraser import OwnersEraser
from policy.acknowledgement import signed_text
from schemas.eraser import Eraser, Plan, Scope
from schemas.errors import UnknownOutcome
from schemas.events import Deletion, Derivation, ErasureAck, Selector
from schemas.settings import Settings
from schemas.topics import ACKS, DERIVATIONS
from schemas.words import LineStatus, SelectorKind
from stores.artefacts import digest_of, page
from streams.codec import Position, Record, message
from streams.topics import apply
from tests.contract.faults import Faulty
from tests.contract.test_erasers import EraserContract
from tests.integration.test_erasure import Hand
from tests.seeding import Seeded, seed

pytestmark = [pytest.mark.contract, pytest.mark.integration]

TENANT = "t1"


class Lab:
    """Registers a copy of every memory, and erases the copies that it is told to: the orders lie in its own topic."""

    def __init__(self, hand: Hand) -> None:
        self.hand = hand
        self.name = f"lab-{secrets.token_hex(4)}"
        self.key = Ed25519PrivateKey.generate()
        self.copies: set[str] = set()
        self.refused: list[str] = []
        self._done: dict[int, int] = {}
        raw = base64.urlsafe_b64encode(self.key.public_key().public_bytes_raw()).decode()
        hand.settings.owners_file.write_text(json.dumps({self.name: raw}))
        self._at = 0

    def copy(self, seeded: Seeded) -> None:
        rows = self._rows("SELECT id FROM memories WHERE handle = %s", seeded.handle)
        for (memory,) in rows:
            name = f"copy-{memory.hex()}"
            parents = ({"memory": memory.hex()},)
            event = Derivation(
                owner=self.name, artefact=name, kind="sample", tenant=TENANT, parents=parents, at=datetime.now(UTC)
            )
            self._tell(DERIVATIONS, event)
            self.copies.add(name)

    def orders(self) -> list[tuple[Any, ...]]:
        query = "SELECT no, erasure, challenge FROM owner_orders WHERE owner = %s AND state <> 'done' ORDER BY no"
        return self._rows(query, self.name)

    def carry_out(self, number: int, erasure: bytes, challenge: str) -> None:
        """Erase what an order names, and say so; one that comes again is answered again, whatever its page says now."""
        if number not in self._done:
            self._done[number] = self._erase(number, erasure)
        self.say(erasure, challenge, "done", self._done[number])

    def _erase(self, number: int, erasure: bytes) -> int:
        lookup = self.hand.parts.vault.lookup(TENANT)
        assert lookup is not None
        shown = page(self.hand.parts.observing(), lookup, erasure, self.name, order=number)
        assert shown is not None
        names = {one["artefact"] for one in shown.artefacts}
        assert len(names) == shown.count and digest_of(shown.salt, names) == shown.digest
        self.copies -= names
        return shown.count

    def pretend(self, number: int, erasure: bytes, challenge: str) -> None:
        """Say done without having looked at what was to be done: the count gives it away."""
        self.say(erasure, challenge, "done", 0)

    def say(self, erasure: bytes, challenge: str, state: str, expected: int | None) -> None:
        ack = ErasureAck(
            erasure_id=erasure.hex(),
            challenge=challenge,
            owner=self.name,
            state=state,  # type: ignore[arg-type]
            expected=expected,
            evidence="job 17",
        )
        signature = base64.urlsafe_b64encode(self.key.sign(signed_text(ack))).decode().rstrip("=")
        self._tell(ACKS, ack.model_copy(update={"signature": signature}))

    def _tell(self, topic: str, event: Any) -> None:
        self._at += 1
        item = message(topic, "k", event, secrets.token_hex(8))
        now = int(datetime.now(UTC).timestamp() * 1000)
        record = Record(Position(9, 0, self._at), topic, item.type, "", "k", item.body, now)
        purger, conn = self.hand.purger, self.hand.parts.observing()
        ready = purger.prepare([record])
        with conn.transaction():
            result = purger.decide(ready, purger.load(conn, ready))
            purger.store(conn, result)
        self.refused += [letter.reason for letter in result.dead_letters]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.hand.parts.observing().execute(query, values).fetchall()


class Answered:
    """The eraser, and beside it the owner, who takes up what it is told at once."""

    def __init__(self, eraser: OwnersEraser, lab: Lab, carrying_out: Any) -> None:
        self._eraser = eraser
        self._lab = lab
        self._carrying_out = carrying_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._eraser, name)

    def erase(self, plan: Plan) -> None:
        self._eraser.erase(plan)
        for number, erasure, challenge in self._lab.orders():
            try:
                self._carrying_out.carry_out(number, erasure, challenge)
            except Unwilling:
                self._lab.say(erasure, challenge, "refused", None)
            except UnknownOutcome:
                # Its process ended before the answer was sent.
                return


class Unwilling(Exception):
    """The owner says no."""


class TestOwners(EraserContract):
    """The faults are the owner's: its silence is no error of the eraser's, its line stays open."""

    eraser = "owners"
    raises = False

    @pytest.fixture(autouse=True)
    def _hand(self, settings: Settings) -> Iterator[None]:
        apply(settings)
        hand = Hand(settings.model_copy(update={"turns_log": "shared"}))
        hand.parts.index.ensure(384)
        self.lab = Lab(hand)
        yield
        hand.close()

    @pytest.fixture
    def gone(self, settings: Settings) -> Seeded:
        """Blocked, as whoever is erased is by then."""
        seeded = seed(settings, TENANT, secrets.token_hex(4), 7)
        self.lab.copy(seeded)
        selector = Selector(kind=SelectorKind.SUBJECT, subject=seeded.subject)
        event = Deletion(request_id=secrets.token_hex(6), tenant=TENANT, requested_by="officer", selector=selector)
        self.erasure = self.lab.hand.send(event)
        self.handle = seeded.handle
        return seeded

    @pytest.fixture
    def stays(self, settings: Settings) -> Seeded:
        seeded = seed(settings, TENANT, secrets.token_hex(4), 3)
        self.lab.copy(seeded)
        return seeded

    def scope(self, seeded: Seeded) -> Scope:
        erasure = self.erasure if seeded.handle == self.handle else b"nobody's erasure"
        return Scope(
            erasure, SelectorKind.SUBJECT, seeded.tenant_ref, seeded.ref, handle=seeded.handle, epoch=1, blocked=True
        )

    def make(self, settings: Settings, fault: str | None = None) -> tuple[Eraser, Faulty | None]:
        parts = self.lab.hand.parts
        eraser = OwnersEraser(parts.vault, parts.erasing, parts.observing)
        proxy = None
        if fault:
            wrong = Unwilling if fault == "refused" else UnknownOutcome
            lab = Silent(self.lab) if fault == "lost" else self.lab
            proxy = Faulty(lab, ("carry_out",), fault, wrong, pretended=self.lab.pretend)
        return Answered(eraser, self.lab, proxy or self.lab), proxy

    def test_the_owner_has_nothing_left_and_was_told_once(
        self, settings: Settings, gone: Seeded, stays: Seeded
    ) -> None:
        eraser, _ = self.make(settings)
        for _ in range(2):
            eraser.erase(eraser.plan(self.scope(gone)))
        assert len(self.lab.copies) == 3 and self.lab.refused == []
        query = "SELECT count(*), max(count) FROM owner_orders WHERE erasure = %s"
        assert self.lab.hand.parts.observing().execute(query, (self.erasure,)).fetchone() == (1, 7)

    @pytest.mark.parametrize(
        ("fault", "status", "reason", "letters"),
        [
            ("lost", LineStatus.EXTERNAL, "owner_silent", []),
            ("twice", LineStatus.ERASED, None, []),
            ("delayed", LineStatus.ERASED, None, []),
            ("refused", LineStatus.OPEN, "owner_refused", []),
            ("pretended", LineStatus.EXTERNAL, "owner_silent", ["wrong_count"]),
        ],
    )
    def test_what_the_line_says_of_a_fault(
        self, settings: Settings, gone: Seeded, fault: str, status: LineStatus, reason: str | None, letters: list[str]
    ) -> None:
        eraser, _ = self.make(settings, fault)
        eraser.erase(eraser.plan(self.scope(gone)))
        [seen] = [seen for seen in eraser.observe(self.scope(gone)) if seen.entry == "owners.artefacts"]
        assert (seen.status, seen.reason, self.lab.refused) == (status, reason, letters)
        # Its word is not taken for more than it is, and what was done without a word stays open.
        assert (seen.remaining == 0) == (status is LineStatus.ERASED)
        assert len(self.lab.copies) == (7 if fault in ("refused", "pretended") else 0)


class Silent:
    """Does what it is told; what it says reaches nobody."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def carry_out(self, number: int, erasure: bytes, challenge: str) -> None:
        said, self._lab.say = self._lab.say, lambda *_: None  # type: ignore[method-assign]
        try:
            self._lab.carry_out(number, erasure, challenge)
        finally:
            self._lab.say = said  # type: ignore[method-assign]
