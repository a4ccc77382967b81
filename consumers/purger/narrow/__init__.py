"""Selectors narrower than a subject: the items, what descends from them, and what stays, recomputed."""
