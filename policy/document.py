"""The policy document: versioned YAML, validated when it is loaded, hashed so that a decision can name it (P1)."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.errors import ConfigurationError
from schemas.ids import Id, Namespace
from schemas.words import MemoryType, Outcome, Sensitivity, SourceType

Share = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[int, Field(ge=1, le=36_500)]


class Strict(BaseModel):
    """A part of the document: frozen, and a misspelt name is an error instead of a rule that never matches."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Match(Strict):
    """What a rule asks of a draft; everything given must hold, an empty match always does."""

    source_type: tuple[SourceType, ...] | None = None
    type: tuple[MemoryType, ...] | None = None
    sensitivity: tuple[Sensitivity, ...] | None = None
    namespace: tuple[Namespace, ...] | None = None
    category: tuple[Id, ...] | None = None
    explicit: bool | None = None
    ends: bool | None = None
    replaces: bool | None = None
    third_party: bool | None = None
    unresolved_scope: bool | None = None
    scoped: bool | None = None


class Rule(Strict):
    """One row of the source table (P2)."""

    name: Id
    when: Match
    outcome: Outcome
    reasons: tuple[Id, ...] = Field(min_length=1)


class Confidence(Strict):
    """What happens to weak claims (P5)."""

    minimum: Share = 0.55
    floor: Share = 0.3
    below: Literal[Outcome.PEND, Outcome.REJECT] = Outcome.PEND
    promote_after: Annotated[int, Field(ge=2)] = 3

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.floor > self.minimum:
            raise ValueError("floor must not be above minimum")
        return self


class Retention(Strict):
    """How long what is not an active memory is kept, in days."""

    candidate_days: Days = 14
    event_log_days: Days = 180
    suggestion_days: Days = 14
    pending_days: Days = 14
    quarantine_days: Days = 14
    expired_days: Days = 30
    review_days: Days = 180

    @model_validator(mode="after")
    def _outlives_what_waits(self) -> Self:
        # What waits because of a memory is decided or expired itself before that one goes.
        if self.expired_days < max(self.suggestion_days, self.pending_days, self.quarantine_days):
            raise ValueError("expired_days must not be below suggestion_days, pending_days or quarantine_days")
        return self


class TypeRule(Strict):
    """How a type of memory ages and ranks (C12, R2)."""

    half_life_days: Annotated[float, Field(gt=0)]
    expires_days: Days | None = None
    priority: Annotated[float, Field(gt=0)] = 1.0


class Weights(Strict):
    """What counts in ranking; the weights sum to one."""

    relevance: Share
    importance: Share
    recency: Share
    confidence: Share
    explicitness: Share

    @model_validator(mode="after")
    def _sum(self) -> Self:
        total = self.relevance + self.importance + self.recency + self.confidence + self.explicitness
        if abs(total - 1) > 1e-6:
            raise ValueError(f"weights must sum to 1, not {total:g}")
        return self


class Ranking(Strict):
    """Weights and limits of one recall (R2, R4)."""

    weights: Weights
    top_k: Annotated[int, Field(ge=1, le=100)] = 8
    token_budget: Annotated[int, Field(ge=50, le=100_000)] = 800


class Policy(Strict):
    """The document; ``sha256`` is that of the bytes it was read from."""

    version: Id
    namespaces: tuple[Namespace, ...] = Field(min_length=1)
    never: tuple[Id, ...] = ()
    confidence: Confidence = Confidence()
    rules: tuple[Rule, ...] = Field(min_length=1)
    authority: tuple[SourceType, ...]
    retention: Retention = Retention()
    types: dict[MemoryType, TypeRule]
    ranking: Ranking
    sha256: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if sorted(self.authority) != sorted(SourceType):
            raise ValueError("authority must list every source type once")
        if set(self.types) != set(MemoryType):
            raise ValueError("types must have an entry for every memory type")
        names = [rule.name for rule in self.rules]
        if len(set(names)) != len(names):
            raise ValueError("rule names must differ")
        if self.rules[-1].when != Match():
            raise ValueError("the last rule must match everything (when: {})")
        return self

    def rank_of(self, source: SourceType) -> int:
        """Return the authority of a source in this policy, higher is stronger (C3)."""
        return len(self.authority) - self.authority.index(source)

    def half_life(self, kind: MemoryType) -> timedelta:
        """Return the half-life of recency for a type."""
        return timedelta(days=self.types[kind].half_life_days)

    def default_lifetime(self, kind: MemoryType) -> timedelta | None:
        """Return how long a memory of that type lives where it states no time, None for ever."""
        days = self.types[kind].expires_days
        return None if days is None else timedelta(days=days)


def load_policy(path: Path | str | None = None) -> Policy:
    """Read, validate and hash a policy document, the built-in one where ``path`` is None.

    Raises:
        ConfigurationError: it cannot be read, is no YAML, or a field is wrong; the message names the field.
    """
    name = str(path) if path is not None else "the built-in policy"
    try:
        raw = Path(path).read_bytes() if path is not None else files("policy").joinpath("policy.yaml").read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{name} cannot be read: {error.strerror or error}") from error
    return parse_policy(raw, name)


def parse_policy(raw: bytes, name: str = "policy") -> Policy:
    """Validate and hash the bytes of a policy document.

    Raises:
        ConfigurationError: as ``load_policy``.
    """
    try:
        document: Any = yaml.safe_load(raw)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name} is not YAML: {_where(error)}") from error
    if not isinstance(document, dict):
        raise ConfigurationError(f"{name} must be a mapping of names")
    if "sha256" in document:
        raise ConfigurationError(f"{name}: sha256 is computed, not written")
    try:
        return Policy.model_validate({**document, "sha256": hashlib.sha256(raw).hexdigest()})
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'document'}: {fault['msg']}" for fault in error.errors()
        )
        raise ConfigurationError(f"{name} is not a policy: {faults}") from error


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "not UTF-8"
