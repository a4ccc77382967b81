"""The rule extractor: Chinese and English, offline, no model (W3 to W7, W11, W12)."""

from consumers.extractor.rules.extract import NAME, VERSION, extract

__all__ = ["NAME", "VERSION", "extract"]
