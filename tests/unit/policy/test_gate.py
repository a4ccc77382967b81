"""The source table of P2, and what no policy may let in (P3 to P5)."""

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policy.document import load_policy, parse_policy
from policy.gate import evaluate
from schemas.records import Content, Draft, Verdict
from schemas.words import Action, MemoryType, Outcome, Polarity, Sensitivity, SourceType

POLICY = load_policy()
DRAFT = Draft(
    content=Content("preferences", "likes.jazz", "jazz", "I love jazz"),
    type=MemoryType.PREFERENCE,
    polarity=Polarity.POSITIVE,
    source_type=SourceType.USER_STATED,
    confidence=0.85,
    importance=0.5,
)


def judged(*, content: dict[str, object] | None = None, **changes: object) -> Verdict:
    """The verdict on the draft above with some fields changed."""
    draft = replace(DRAFT, content=replace(DRAFT.content, **(content or {})), **changes)  # type: ignore[arg-type]
    return evaluate(POLICY, draft)


@pytest.mark.parametrize(
    ("changes", "outcome", "rule"),
    [
        ({}, Outcome.ACCEPT, "stated-preference-or-fact"),
        ({"explicit": True}, Outcome.ACCEPT, "explicit-remember"),
        ({"type": MemoryType.FACT}, Outcome.ACCEPT, "stated-preference-or-fact"),
        ({"type": MemoryType.GOAL}, Outcome.ACCEPT, "stated-preference-or-fact"),
        ({"type": MemoryType.TEMPORARY_PREFERENCE}, Outcome.ACCEPT, "stated-preference-or-fact"),
        ({"type": MemoryType.EXPERIENCE}, Outcome.PEND, "anything-else"),
        ({"type": MemoryType.BEHAVIOUR}, Outcome.REJECT, "past-behaviour"),
        ({"source_type": SourceType.MODEL_INFERRED}, Outcome.PEND, "model-inference"),
        ({"source_type": SourceType.TOOL_VERIFIED}, Outcome.PEND, "tool-verified-without-scope"),
        ({"source_type": SourceType.EXTERNAL}, Outcome.QUARANTINE, "external-content"),
        ({"source_type": SourceType.EXTERNAL, "explicit": True}, Outcome.QUARANTINE, "external-content"),
        (
            {"source_type": SourceType.USER_CONFIRMED, "sensitivity": Sensitivity.SENSITIVE},
            Outcome.ACCEPT,
            "confirmed-by-person",
        ),
        ({"sensitivity": Sensitivity.SENSITIVE}, Outcome.CONFIRM, "sensitive"),
        ({"sensitivity": Sensitivity.SENSITIVE, "explicit": True}, Outcome.CONFIRM, "sensitive"),
        ({"sensitivity": Sensitivity.SECRET}, Outcome.REJECT, "secret"),
        ({"sensitivity": Sensitivity.PERSONAL}, Outcome.ACCEPT, "stated-preference-or-fact"),
        ({"third_party": True, "explicit": True}, Outcome.REJECT, "third-party"),
        ({"unresolved_scope": True}, Outcome.CONFIRM, "unresolved-scope"),
        ({"ends": True}, Outcome.ACCEPT, "ended-by-person"),
        ({"ends": True, "source_type": SourceType.EXTERNAL}, Outcome.QUARANTINE, "external-content"),
    ],
)
def test_source_table(changes: dict[str, object], outcome: Outcome, rule: str) -> None:
    verdict = judged(**changes)
    assert (verdict.outcome, verdict.rule) == (outcome, rule)
    assert verdict.reasons


def test_tool_facts_are_accepted_in_their_scope() -> None:
    verdict = judged(content={"scope": "project.p1"}, source_type=SourceType.TOOL_VERIFIED, type=MemoryType.FACT)
    assert (verdict.outcome, verdict.rule) == (Outcome.ACCEPT, "tool-verified-in-scope")


@pytest.mark.parametrize(
    ("content", "outcome", "reason"),
    [
        ({"value": "sk-test-abc123def456"}, Outcome.REJECT, "secret"),
        ({"quote": "my password is [secret:password]"}, Outcome.REJECT, "secret"),
        ({"key": "note.akiaiosfodnn7example", "value": "AKIAIOSFODNN7EXAMPLE"}, Outcome.REJECT, "secret"),
        ({"value": "13800138000"}, Outcome.REJECT, "phone"),
        ({"value": "a.b@example.org"}, Outcome.REJECT, "mail"),
        ({"value": "[national_id]"}, Outcome.REJECT, "identity_document"),
        ({"value": "[payment_card]"}, Outcome.REJECT, "payment"),
        ({"value": "my salary is 5,000"}, Outcome.REJECT, "money"),
        ({"value": "12 Baker Street"}, Outcome.REJECT, "address"),
        ({"quote": "我对花生过敏"}, Outcome.CONFIRM, "health"),
        ({"namespace": "payment.cards"}, Outcome.REJECT, "payment"),
        ({"namespace": "gossip"}, Outcome.REJECT, "namespace_not_allowed"),
        ({"namespace": "preferencesx"}, Outcome.REJECT, "namespace_not_allowed"),
        ({"namespace": "preferences.food"}, Outcome.ACCEPT, "user_stated"),
    ],
)
def test_content_is_screened_again(content: dict[str, object], outcome: Outcome, reason: str) -> None:
    verdict = judged(content=content)
    assert verdict.outcome is outcome
    assert reason in verdict.reasons


@pytest.mark.parametrize("source", list(SourceType))
@pytest.mark.parametrize("explicit", [True, False])
def test_secrets_are_never_overridden(source: SourceType, explicit: bool) -> None:
    open_policy = yaml.safe_dump(
        {
            **POLICY.model_dump(mode="json", exclude={"sha256"}),
            "never": [],
            "rules": [{"name": "all", "when": {}, "outcome": "accept", "reasons": ["all"]}],
        }
    ).encode()
    for value in ("sk-test-abc123def456", "13800138000", "a.b@example.org", "[national_id]"):
        draft = replace(DRAFT, content=replace(DRAFT.content, value=value), source_type=source, explicit=explicit)
        assert evaluate(parse_policy(open_policy), draft).outcome is Outcome.REJECT


@pytest.mark.parametrize(
    ("confidence", "outcome", "reason"),
    [
        (0.55, Outcome.ACCEPT, "user_stated"),
        (0.54, Outcome.PEND, "low_confidence"),
        (0.29, Outcome.REJECT, "confidence_below_floor"),
    ],
)
def test_weak_claims_wait_or_go(confidence: float, outcome: Outcome, reason: str) -> None:
    verdict = judged(confidence=confidence)
    assert verdict.outcome is outcome
    assert reason in verdict.reasons


@pytest.mark.parametrize("action", list(Action))
def test_what_a_person_orders_is_done(action: Action) -> None:
    verdict = judged(
        source_type=SourceType.USER_CONFIRMED,
        action=action,
        target="m1",
        confidence=0.0,
        sensitivity=Sensitivity.SENSITIVE,
    )
    assert verdict.outcome is Outcome.ACCEPT


def test_a_correction_is_screened() -> None:
    verdict = judged(content={"value": "13800138000"}, source_type=SourceType.USER_CONFIRMED, action=Action.CORRECT)
    assert verdict.outcome is Outcome.REJECT


def test_taking_back_what_is_no_longer_allowed_is_allowed() -> None:
    verdict = judged(content={"value": "13800138000", "namespace": "gone"}, ends=True)
    assert verdict.outcome is Outcome.ACCEPT


@given(
    st.builds(
        Draft,
        content=st.builds(
            Content, st.sampled_from(["preferences", "gossip"]), *(st.text(max_size=size) for size in (20, 40, 40))
        ),
        type=st.sampled_from(MemoryType),
        polarity=st.sampled_from(Polarity),
        source_type=st.sampled_from(SourceType),
        confidence=st.floats(0, 1),
        importance=st.floats(0, 1),
        sensitivity=st.sampled_from(Sensitivity),
        explicit=st.booleans(),
        ends=st.booleans(),
        third_party=st.booleans(),
        unresolved_scope=st.booleans(),
    )
)
def test_every_draft_gets_a_verdict(draft: Draft) -> None:
    verdict = evaluate(POLICY, draft)
    assert verdict.rule
    assert verdict.reasons
    if draft.sensitivity is Sensitivity.SECRET or draft.source_type is SourceType.EXTERNAL:
        assert verdict.outcome is not Outcome.ACCEPT
    if (
        draft.sensitivity is Sensitivity.SENSITIVE
        and draft.source_type is not SourceType.USER_CONFIRMED
        and not draft.ends
    ):
        assert verdict.outcome is not Outcome.ACCEPT
