"""The policy document is validated when it is loaded and named by its hash (P1)."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy.document import load_policy, parse_policy
from schemas.errors import ConfigurationError
from schemas.words import MemoryType, SourceType

RULE = {"name": "a", "when": {}, "outcome": "pend", "reasons": ["a"]}
WEIGHTS = ("relevance", "importance", "recency", "confidence", "explicitness")


def document(**changes: Any) -> bytes:
    """The built-in document with some parts changed; None removes one."""
    built_in = yaml.safe_load(Path("policy/policy.yaml").read_bytes())
    merged = {name: part for name, part in {**built_in, **changes}.items() if part is not None}
    return yaml.safe_dump(merged, allow_unicode=True).encode()


def test_the_built_in_policy_is_whole() -> None:
    policy = load_policy()
    assert policy.sha256 == hashlib.sha256(Path("policy/policy.yaml").read_bytes()).hexdigest()
    assert policy.confidence.minimum == 0.55
    assert policy.retention.candidate_days == 14
    assert policy.retention.event_log_days == 180
    assert policy.ranking.weights.model_dump() == {
        "relevance": 0.45,
        "importance": 0.20,
        "recency": 0.15,
        "confidence": 0.15,
        "explicitness": 0.05,
    }
    assert set(policy.types) == set(MemoryType)
    assert policy.rank_of(SourceType.USER_CONFIRMED) > policy.rank_of(SourceType.USER_STATED)
    assert policy.default_lifetime(MemoryType.FACT) is None
    assert policy.half_life(MemoryType.PREFERENCE).days == 365


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(document(version="mine-1"))
    policy = load_policy(path)
    assert policy.version == "mine-1"
    assert policy.sha256 != load_policy().sha256


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (b"a: [", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        (b"- a\n- b\n", "mapping"),
        (document(version=None), "version"),
        (document(version=3), "version"),
        (document(surprise=1), "surprise"),
        (document(sha256="0" * 64), "sha256"),
        (document(namespaces=["a..b"]), "namespaces.0"),
        (document(namespaces=[]), "namespaces"),
        (document(confidence={"minimum": 2}), "confidence.minimum"),
        (document(confidence={"minimum": 0.2, "floor": 0.5}), "floor"),
        (document(confidence={"below": "accept"}), "confidence.below"),
        (document(rules=[]), "rules"),
        (document(rules=[{**RULE, "when": {"typo": 1}}]), r"rules\.0\.when"),
        (document(rules=[{**RULE, "outcome": "allow"}]), "rules.0.outcome"),
        (document(rules=[{**RULE, "when": {"explicit": True}}]), "last rule"),
        (document(rules=[RULE, RULE]), "differ"),
        (document(authority=["user_stated"]), "authority"),
        (document(types={"fact": {"half_life_days": 3}}), "types"),
        (document(ranking={"weights": dict.fromkeys(WEIGHTS, 1)}), "sum to 1"),
    ],
)
def test_a_wrong_document_names_what_is_wrong(raw: bytes, names: str) -> None:
    with pytest.raises(ConfigurationError, match=names):
        parse_policy(raw)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yaml cannot be read"):
        load_policy(tmp_path / "absent.yaml")
