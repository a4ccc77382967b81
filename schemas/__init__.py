"""Contracts of Obelus: words, events, records, errors, topics, settings, data map. No I/O."""
