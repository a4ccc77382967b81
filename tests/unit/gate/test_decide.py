"""What becomes of candidates (P1, P2, P7, P10, D3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from consumers.gate import decide as rules
from consumers.gate.model import Candidate, Ready, Result, State, Waiting
from policy.document import load_policy
from schemas.errors import TransientError
from schemas.records import Content, Draft
from schemas.words import Action, Consent, MemoryType, Polarity, SourceType
from stores.subjects import SubjectRow
from streams.codec import Position

POLICY = load_policy()
DRAFT = Draft(
    Content("preferences", "drink", "tea", "I like tea"),
    MemoryType.PREFERENCE,
    Polarity.POSITIVE,
    SourceType.USER_STATED,
    0.9,
    0.5,
)
ANN = SubjectRow(b"ann", b"t", 1, b"hann", 1, Consent.ON, {}, None, 0)
BOB = replace(ANN, ref=b"bob", handle=b"hbob")
CANDIDATE = Candidate(b"c1", b"hann", 1, b"ann", b"ann", 1, "rules/1", Consent.ON, DRAFT)
WAITING = Waiting(Position(2, 0, 1), b"c1", b"hann", 1)


def judged(candidate: Candidate | None = CANDIDATE, *, subject: SubjectRow | None = ANN, **state: object) -> Result:
    given = State(
        subjects={b"hann": subject} if subject else {},
        authors={b"bob": BOB},
        candidates={candidate.id: candidate} if candidate else {},
    )
    return rules.decide(POLICY, Ready((WAITING,)), replace(given, **state))  # type: ignore[arg-type]


def verdict(result: Result) -> tuple[str, str]:
    (decision,) = result.decisions
    return decision.verdict.outcome, decision.verdict.rule


def test_policy_decides() -> None:
    result = judged()
    assert result.counts == {"decided": 1}
    assert verdict(result) == ("accept", "stated-preference-or-fact")
    assert not result.kinds


def test_a_candidate_is_decided_once() -> None:
    assert judged(decided={b"c1"}).counts == {"duplicate": 1}
    state = State({b"hann": ANN}, {}, {b"c1": CANDIDATE})
    twice = rules.decide(POLICY, Ready((WAITING, replace(WAITING, position=Position(2, 0, 2)))), state)
    assert twice.counts == {"decided": 1, "duplicate": 1}
    assert len(twice.decisions) == 1


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(lambda: judged(subject=None), id="handle gone"),
        pytest.param(lambda: judged(subject=replace(ANN, epoch=2)), id="epoch moved"),
        pytest.param(lambda: judged(None), id="candidate gone"),
        pytest.param(lambda: judged(replace(CANDIDATE, author=b"eve")), id="author gone"),
        pytest.param(lambda: judged(replace(CANDIDATE, author=b"bob", author_epoch=0)), id="author's epoch moved"),
    ],
)
def test_what_was_erased_leaves_no_row(result: object) -> None:
    made: Result = result()  # type: ignore[operator]
    assert made.counts == {"erased_source": 1}
    assert not made.decisions
    assert not made.kinds


@pytest.mark.parametrize("consent", [Consent.PAUSED, Consent.OFF])
@pytest.mark.parametrize("whose", ["subject", "tenant", "author", "conversation"])
def test_consent_is_asked_for_again(consent: Consent, whose: str) -> None:
    subject = ANN
    candidate = replace(CANDIDATE, author=b"bob", author_epoch=1)
    authors = {b"bob": BOB}
    if whose == "subject":
        subject = replace(ANN, consent=consent)
    elif whose == "tenant":
        subject = replace(ANN, tenant_consent=consent)
    elif whose == "author":
        authors = {b"bob": replace(BOB, consent=consent)}
    else:
        candidate = replace(candidate, consent=consent)
    result = judged(candidate, subject=subject, authors=authors)
    assert result.counts == {"not_permitted": 1}
    assert verdict(result) == ("reject", "consent")
    assert result.decisions[0].verdict.reasons == ("not_permitted",)


@pytest.mark.parametrize(("action", "outcome"), [(Action.DECLINE, "accept"), (Action.CONFIRM, "reject")])
def test_taking_back_needs_no_consent(action: Action, outcome: str) -> None:
    order = replace(
        DRAFT,
        content=Content("", "", "", ""),
        source_type=SourceType.USER_CONFIRMED,
        action=action,
        target="00" * 16,
    )
    result = judged(replace(CANDIDATE, draft=order), subject=replace(ANN, consent=Consent.PAUSED))
    assert verdict(result)[0] == outcome


@pytest.mark.parametrize(
    ("value", "kind"),
    [("my password is [secret:password]", "secret"), ("call me at +86 138 0013 8000", "phone")],
)
def test_a_hit_is_noted_by_kind_alone(value: str, kind: str) -> None:
    draft = replace(DRAFT, content=replace(DRAFT.content, value=value, quote=value))
    result = judged(replace(CANDIDATE, draft=draft))
    assert verdict(result)[0] == "reject"
    assert [(handle, found) for handle, found, _ in result.kinds] == [(b"hann", kind)]


def test_where_policy_fails_the_candidate_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("I like tea")

    monkeypatch.setattr(rules, "evaluate", broken)
    with pytest.raises(TransientError) as caught:
        judged()
    assert "tea" not in str(caught.value)
    assert caught.value.__suppress_context__
