"""Makes, signs, chains and keeps a receipt, in one transaction with the state it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumers import outbox
from consumers.purger import book
from consumers.purger.block import erased_handle
from consumers.purger.faults import passing
from consumers.purger.lines import finished, is_whole
from policy.receipts import Facts, Signed, sign
from schemas.datamap import Store
from schemas.eraser import Line
from schemas.topics import RECEIPTS
from schemas.words import ErasureState, LineStatus
from stores.database import Connection
from stores.vault import Vault
from stores.vault_ledger import Head
from streams.codec import Message

_TYPE = "org.obelus.receipt.v1"
_BEFORE = (
    ErasureState.BLOCKED,
    ErasureState.ERASING,
    ErasureState.PARTIAL,
    ErasureState.NEEDS_HUMAN,
)
"""States before the first receipt that says that a handle is empty."""
_SOON, _WATCH, _WATCH_HELD = timedelta(seconds=1), timedelta(minutes=1), timedelta(minutes=15)
"""How soon an erasure whose properties can still rise is looked at again, at first and at last, and one that
somebody else holds back."""


@dataclass(frozen=True, slots=True)
class Notary:
    """Who signs, and where the chain's heads are kept besides PostgreSQL."""

    key: Ed25519PrivateKey
    vault: Vault

    def issue(self, conn: Connection, held: book.Held, lines: Sequence[Line], state: ErasureState) -> None:
        """Keep lines and receipt, move the tenant's chain, leave both messages, and let go of the saga."""
        at = datetime.now(UTC)
        with conn.pipeline(), book.durable(conn):
            locked = conn.execute(book.SQL.lock_head, (held.tenant,))
            newest = conn.execute(book.SQL.newest_receipt, (held.id,)).fetchone()
            row = locked.fetchone()
            head = self._newest(held.tenant, Head(*row) if row and row[0] else None)
            supersedes = newest[0] if newest else None
            # The server writes them while this signs.
            book.save_lines(conn, held.id, lines)
            signed = sign(self._facts(held, head, supersedes, state, at), lines, self.key)
            sequence = (head.seq if head else 0) + 1
            done = state is not ErasureState.NEEDS_HUMAN
            outbox.put(conn, book.CONSUMER, _told(held, signed, erased=done and held.state in _BEFORE))
            following = next_look(lines, state, at, held.blocked_at)
            conn.execute(book.SQL.conclude, _concluded(held, signed, sequence, supersedes, state, at, following))
            passing("receipt_stored")
        passing("receipt_committed")
        with self.vault.together():
            self.vault.advance_head(held.tenant, head, signed.digest)
            self.vault.set_request_state(held.id, state.value)
        passing("chained")

    def _newest(self, tenant: bytes, stored: Head | None) -> Head | None:
        """The later of the two heads; a crash between the two commits leaves the vault one behind."""
        kept = self.vault.chain_head(tenant)
        if stored is None:
            return kept
        if kept is None or kept.seq == stored.seq - 1:
            return self.vault.advance_head(tenant, kept, stored.digest)
        return kept

    def _facts(
        self,
        held: book.Held,
        head: Head | None,
        supersedes: bytes | None,
        state: ErasureState,
        at: datetime,
    ) -> Facts:
        return Facts(
            erasure_id=held.id.hex(),
            chain_id=self.vault.chain_id(held.tenant).hex(),
            sequence=(head.seq if head else 0) + 1,
            previous=head.digest.hex() if head else None,
            supersedes=supersedes.hex() if supersedes else None,
            selector=held.kind.value,
            state=state.value,
            tag=held.tag.hex() if held.tag else None,
            plan_digest=held.plan_digest or "",
            accepted=held.plan or {},
            fence=held.fence or {},
            requested_at=held.requested_at,
            blocked_at=held.blocked_at,
            issued_at=at,
            deadline=held.deadline,
        )


def _told(held: book.Held, signed: Signed, *, erased: bool) -> list[Message]:
    """The receipt, and with the first one that says so that a handle is empty."""
    receipt = Message(RECEIPTS, held.id.hex(), _TYPE, signed.digest.hex(), signed.envelope)
    if erased and held.handle is not None and is_whole(held.kind):
        return [receipt, erased_handle(held.handle, held.epoch or 0)]
    return [receipt]


def _concluded(
    held: book.Held,
    signed: Signed,
    sequence: int,
    supersedes: bytes | None,
    state: ErasureState,
    at: datetime,
    following: datetime | None,
) -> dict[str, object]:
    return {
        "id": held.id,
        "owner": held.owner,
        "tenant": held.tenant,
        "digest": signed.digest,
        "sequence": sequence,
        "supersedes": supersedes,
        "envelope": signed.envelope,
        "evidence": signed.evidence,
        "at": at,
        "state": state.value,
        "next_at": following,
    }


def next_look(
    lines: Sequence[Line], state: ErasureState, at: datetime, since: datetime | None = None
) -> datetime | None:
    """When a property may rise: soon while one is missing, later the longer it takes; else on the first date.

    What is held back for a reason of somebody else's is looked at now and then until its date.
    """
    if state is not ErasureState.FINAL:
        ours = [line for line in lines if line.store != Store.OWNERS and not finished(line)]
        # An owner's answer brings its erasure up at once; looking more often would not hurry anybody.
        return at + _wait(at, since, _WATCH if ours else _WATCH_HELD)
    dates = [line.expires_at for line in lines if line.status is LineStatus.EXPIRES]
    if any(line.status is LineStatus.EXPIRES and line.reason is not None for line in lines):
        dates.append(at + _wait(at, since, _WATCH_HELD))
    return min((date for date in dates if date is not None), default=None)


def _wait(at: datetime, since: datetime | None, most: timedelta) -> timedelta:
    return most if since is None else min(most, max(_SOON, (at - since) / 2))
