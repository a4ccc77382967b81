"""The gate: what policy says of a draft. Pure; every verdict names the rule that matched and why (P1).

Order of judgement: what is never kept (secrets, identifiers, forbidden categories, foreign namespaces), then
the source table of the document, then confidence. A rule of the document can only be reached by what passed
the first step, so no tenant policy can let a secret in.
"""

from __future__ import annotations

from dataclasses import dataclass

from policy.document import Match, Policy, Rule
from policy.screening.findings import ADDRESS, HEALTH, IDENTITY, MAIL, PHONE, SECRET, findings, sensitivity_of
from schemas.ids import within
from schemas.records import GLOBAL_SCOPE, Draft, Verdict
from schemas.words import Action, Outcome, Sensitivity, SourceType

_IDENTIFIERS = (IDENTITY, PHONE, MAIL)
_LEVELS = list(Sensitivity)
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A draft with what screening found in it."""

    draft: Draft
    found: frozenset[str]
    sensitivity: Sensitivity


def evaluate(policy: Policy, draft: Draft, *, screened_again: bool = True) -> Verdict:
    """Decide what becomes of ``draft``.

    Args:
        policy: The document in force.
        draft: What an extractor or a control proposes.
        screened_again: Screen value, quote and key once more (P4); only a test turns this off.
    """
    found = _screen(draft) if screened_again else _NOTHING
    level = max(draft.sensitivity, sensitivity_of(found), key=_LEVELS.index)
    seen = _Seen(draft, found, level)
    refused = _never(policy, seen)
    if refused is not None:
        return refused
    rule = next(rule for rule in policy.rules if _matches(rule.when, seen))
    verdict = Verdict(rule.outcome, rule.name, (*rule.reasons, *_categories(seen)))
    return _weigh(policy, rule, seen, verdict)


def _screen(draft: Draft) -> frozenset[str]:
    content = draft.content
    parts = (content.value, content.quote, content.key.replace("_", " "), *content.conditions, content.scope)
    # Joined by a line end, which no detector crosses in a way that matters.
    return findings("\n\n".join(part for part in parts if part))


def _never(policy: Policy, seen: _Seen) -> Verdict | None:
    """Return the refusal of what no policy may let in, or None."""
    draft, namespace = seen.draft, seen.draft.content.namespace
    if SECRET in seen.found or seen.sensitivity is Sensitivity.SECRET:
        return Verdict(Outcome.REJECT, "secret", ("secret",))
    # A person who only takes something back or out of use must always be heard.
    if _only_removes(draft):
        return None
    identifiers = tuple(name for name in _IDENTIFIERS if name in seen.found)
    if identifiers:
        return Verdict(Outcome.REJECT, "personal-identifier", ("personal_identifier", *identifiers))
    forbidden = tuple(
        name for name in policy.never if name in seen.found or name in namespace.split(".") or name == draft.content.key
    )
    if forbidden:
        return Verdict(Outcome.REJECT, "never-category", ("category_never", *forbidden))
    if not any(within(namespace, allowed) for allowed in policy.namespaces):
        return Verdict(Outcome.REJECT, "namespace", ("namespace_not_allowed",))
    return None


def _only_removes(draft: Draft) -> bool:
    if draft.action is not None:
        return draft.action is not Action.CORRECT
    return draft.ends and draft.source_type in (SourceType.USER_STATED, SourceType.USER_CONFIRMED)


def _matches(when: Match, seen: _Seen) -> bool:
    draft = seen.draft
    return (
        _one_of(when.source_type, draft.source_type)
        and _one_of(when.type, draft.type)
        and _one_of(when.sensitivity, seen.sensitivity)
        and (when.namespace is None or any(within(draft.content.namespace, name) for name in when.namespace))
        and (when.category is None or any(name in seen.found for name in when.category))
        and _equal(when.explicit, draft.explicit)
        and _equal(when.ends, draft.ends)
        and _equal(when.replaces, draft.replaces)
        and _equal(when.third_party, draft.third_party)
        and _equal(when.unresolved_scope, draft.unresolved_scope)
        and _equal(when.scoped, draft.content.scope != GLOBAL_SCOPE)
    )


def _one_of(allowed: tuple[str, ...] | None, value: str) -> bool:
    return allowed is None or value in allowed


def _equal(wanted: bool | None, value: bool) -> bool:
    return wanted is None or wanted is value


def _categories(seen: _Seen) -> tuple[str, ...]:
    return tuple(name for name in (HEALTH, ADDRESS) if name in seen.found)


def _weigh(policy: Policy, rule: Rule, seen: _Seen, verdict: Verdict) -> Verdict:
    """Hold back a claim that is too weak; what a person confirmed, ended or ordered is not weighed."""
    draft, limits = seen.draft, policy.confidence
    if verdict.outcome not in (Outcome.ACCEPT, Outcome.PEND, Outcome.CONFIRM) or draft.action is not None:
        return verdict
    if draft.source_type is SourceType.USER_CONFIRMED or draft.confidence >= limits.minimum:
        return verdict
    if draft.confidence < limits.floor:
        return Verdict(Outcome.REJECT, rule.name, (*verdict.reasons, "confidence_below_floor"))
    if verdict.outcome is Outcome.ACCEPT:
        return Verdict(limits.below, rule.name, (*verdict.reasons, "low_confidence"))
    return verdict
