"""What is due at the start of a day, and by what name a tenant's day goes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from pydantic import ValidationError

from consumers.purger.expiry.due import What, cutoffs
from consumers.purger.expiry.work import Work
from consumers.purger.narrow.items import Items
from policy.document import Retention
from stores.sealing import RootKey
from stores.vault_ledger import Ledger

MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)


def test_each_kind_has_its_retention() -> None:
    found = cutoffs(MIDNIGHT, Retention(expired_days=20, event_log_days=100))
    # A candidate carries its own end.
    assert found == {
        "candidates": MIDNIGHT,
        "memories": MIDNIGHT - timedelta(days=20),
        "turns": MIDNIGHT - timedelta(days=100),
    }
    # A turn waits for its candidates.
    assert [what.value for what in What] == ["candidates", "memories", "turns"]


@pytest.mark.parametrize("waits", ["suggestion_days", "pending_days", "quarantine_days"])
def test_what_waits_is_decided_before_its_reason_goes(waits: str) -> None:
    Retention(expired_days=20, **{waits: 20})
    with pytest.raises(ValidationError, match="expired_days"):
        Retention(expired_days=20, **{waits: 21})


def test_a_day_of_a_tenant_has_one_name_that_nobody_else_can_make() -> None:
    def names(root: bytes) -> list[bytes]:
        ledger = Ledger(None, RootKey(root))  # type: ignore[arg-type]
        days = (date(2026, 11, 29), date(2026, 11, 30))
        return [ledger.day_id(tenant * 16, day) for tenant in (b"a", b"b") for day in days]

    mine = names(b"r" * 32)
    assert mine == names(b"r" * 32) and len({*mine, *names(b"s" * 32)}) == 8


def test_batches_add_up() -> None:
    work = Work()
    assert not work.any and not work.under_way
    work.begin(Items(memories={b"m"}), {"memories": 1}, MIDNIGHT)
    assert work.any and work.under_way
    work.fold({"postgres.memories": 1})
    assert work.any and not work.under_way and work.base == {"postgres.memories": 1}
    # The newest record that anything came from dates the log's line.
    work.begin(Items(memories={b"n"}), {"memories": 1}, MIDNIGHT - timedelta(days=1))
    assert work.since == MIDNIGHT
