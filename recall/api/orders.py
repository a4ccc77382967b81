"""Placeholder until the parts it needs are there."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
