"""`POST /v1/recall`: the context pack. A slow or broken part costs memory, never an error (R8)."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from policy.document import Policy
from recall.api.answers import answer, body_of, call, granted, read
from recall.api.requests import RecallBody
from recall.auth import Grant
from recall.model import Answer, Question
from recall.pack import render
from recall.problems import Problem

router = APIRouter()

# An agent is waiting with a person behind it; later than this, memory is worth less than an answer.
RECALL_SECONDS = 1.5


@router.post("/v1/recall", openapi_extra=body_of(RecallBody))
async def recall(request: Request) -> Response:
    """Give an agent what is remembered that bears on its question."""
    context, grant = granted(request, "recall")
    body = await read(request, RecallBody)
    question = ask(grant, body, context.policy)
    try:
        found = await call(context, lambda: context.recall.answer(question), RECALL_SECONDS)
    except Problem:
        context.recall.late()
        found = Answer(degraded=True)
    document = found.as_json()
    if body.text:
        document["text"] = render(found.items, found.conflicts)
    return answer(document)


def ask(grant: Grant, body: RecallBody, policy: Policy) -> Question:
    """Make the question of a body within what the token allows.

    Raises:
        Problem: 403 where the body names another scope.
    """
    return Question(
        tenant=grant.tenant,
        subject=grant.scoped(body.subject, body.tenant),
        text=body.query,
        limit=body.limit or policy.ranking.top_k,
        token_budget=body.token_budget or policy.ranking.token_budget,
        at=body.at,
        statements=body.statements,
        scope=body.scope,
        conversation=body.conversation,
        namespaces=body.namespaces,
        role=grant.role,
    )
