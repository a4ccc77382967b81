"""The gate's rules: policy decides what a candidate becomes, and only while its source stands. Pure."""

from __future__ import annotations

from consumers.consent import WRITING_ACTIONS
from consumers.gate.model import Candidate, Decision, Ready, Result, State, Waiting
from policy.document import Policy
from policy.gate import evaluate
from schemas.errors import TransientError
from schemas.records import Draft, Verdict
from schemas.words import Action, Consent, Outcome, TurnOutcome
from stores.subjects import SubjectRow

DECIDED = "decided"
NO_TARGET = Verdict(Outcome.REJECT, "target", ("no_such_memory",))
NOT_PERMITTED = Verdict(Outcome.REJECT, "consent", ("not_permitted",))
# Rules of policy.gate that no document can overrule; what they found is worth a security event (P4).
_SECURITY_RULES = frozenset({"secret", "personal-identifier"})


def decide(policy: Policy, ready: Ready, state: State) -> Result:
    """Return a decision for every candidate of the batch that has none.

    Raises:
        TransientError: policy or screening failed; the batch waits, nothing is let through (P10).
    """
    result = Result(dead_letters=list(ready.dead_letters))
    decided = set(state.decided)
    for waiting in ready.items:
        outcome = _outcome(policy, waiting, state, decided, result)
        result.counts[outcome] += 1
    return result


def _outcome(policy: Policy, waiting: Waiting, state: State, decided: set[bytes], result: Result) -> str:
    if waiting.id in decided:
        return TurnOutcome.DUPLICATE
    subject = state.subjects.get(waiting.handle)
    candidate = state.candidates.get(waiting.id)
    if candidate is None or subject is None or not _stands(candidate, subject, state):
        return TurnOutcome.ERASED_SOURCE
    decided.add(waiting.id)
    permitted = _permitted(candidate, subject, state)
    verdict = _judge(policy, candidate.draft) if permitted else NOT_PERMITTED
    result.decisions.append(Decision(waiting.position, candidate, verdict))
    if verdict.rule in _SECURITY_RULES:
        for kind in verdict.reasons[1:] or verdict.reasons:
            result.kinds.append((candidate.handle, kind, waiting.position))
    return DECIDED if permitted else TurnOutcome.NOT_PERMITTED


def _stands(candidate: Candidate, subject: SubjectRow, state: State) -> bool:
    """True where neither subject nor author was erased since the candidate was written."""
    if subject.epoch != candidate.epoch:
        return False
    if candidate.author == candidate.subject:
        return True
    author = state.authors.get(candidate.author)
    return author is not None and author.epoch == candidate.author_epoch


def _permitted(candidate: Candidate, subject: SubjectRow, state: State) -> bool:
    """Ask for consent again; an order that only takes something back is always heard (P7)."""
    action = candidate.draft.action
    if action is not None and action not in WRITING_ACTIONS:
        return True
    author = state.authors.get(candidate.author, subject)
    consents = (subject.consent, subject.tenant_consent, author.consent, candidate.consent)
    return all(consent is Consent.ON for consent in consents)


def _judge(policy: Policy, draft: Draft) -> Verdict:
    if draft.action is Action.CORRECT and not draft.content.namespace:
        # What it corrects would have lent its namespace, see `look`.
        return NO_TARGET
    try:
        return evaluate(policy, draft)
    except Exception as error:
        # The error of a detector may quote what it read.
        raise TransientError(f"policy could not be evaluated: {type(error).__name__}") from None
