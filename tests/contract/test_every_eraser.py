"""No eraser of the purger claims anything that the contract's suite has not looked at, faults included."""

from __future__ import annotations

import pytest

from consumers.purger.registry import Parts
from schemas.settings import Settings
from tests.contract import test_erasers, test_logs_eraser, test_owners_eraser

pytestmark = [pytest.mark.contract, pytest.mark.integration]

SUITES = {
    suite.eraser
    for module in (test_erasers, test_logs_eraser, test_owners_eraser)
    for suite in vars(module).values()
    if isinstance(suite, type)
    and issubclass(suite, test_erasers.EraserContract)
    and suite is not test_erasers.EraserContract
}


def test_every_eraser_that_can_prove_something_has_its_suite(settings: Settings) -> None:
    parts = Parts.open(settings)
    claiming = {eraser.name for eraser in parts.erasers() if eraser.properties().can}
    parts.close()
    assert claiming == SUITES
