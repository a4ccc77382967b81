"""Screening: secrets and payment or identity numbers never reach a store (P4, invariant 9)."""

from policy.screening.findings import findings, sensitivity
from policy.screening.objects import ScreenedObject, screen_object
from policy.screening.spans import Hit, Screened, screen

__all__ = ["Hit", "Screened", "ScreenedObject", "findings", "screen", "screen_object", "sensitivity"]
