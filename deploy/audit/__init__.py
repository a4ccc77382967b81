"""Looks for what should be gone: in the bytes of every file, and in every store's own answers."""
