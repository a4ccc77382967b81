"""The FastAPI application: routes, and errors as problem documents."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from recall.api import artefacts, erasures, health, memories, orders, recalls
from recall.api.context import Context
from recall.problems import MEDIA_TYPE, Problem, invalid, unavailable
from schemas.errors import ConfigurationError, TransientError

log = logging.getLogger(__name__)


class Quiet:
    """The outermost layer: an unforeseen error is told by its class; its message may carry content."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap the application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; what was raised has been answered with 500 by then."""
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            log.error("unforeseen %s", type(error).__name__)


def build(context: Context) -> ASGIApp:
    """Make the application around opened parts."""
    app = FastAPI(title="Obelus", version="1", docs_url=None, redoc_url=None)
    app.state.context = context
    for module in (recalls, memories, orders, erasures, artefacts, health):
        app.include_router(module.router)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(TransientError, _unavailable)
    app.add_exception_handler(ConfigurationError, _unavailable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)
    return Quiet(app)


def respond(problem: Problem) -> Response:
    """Write a problem."""
    headers = {"www-authenticate": "Bearer"} if problem.status == 401 else None
    return Response(problem.body(), problem.status, media_type=MEDIA_TYPE, headers=headers)


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - registered for this class
    return respond(error)


async def _unavailable(_: Request, error: Exception) -> Response:
    log.warning("a part does not answer: %s", type(error).__name__)
    return respond(unavailable())


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class
    return respond(invalid(list(error.errors())))


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    return respond(Problem(error.status_code, "http", "The request cannot be answered."))


async def _unforeseen(_: Request, error: Exception) -> Response:
    return respond(Problem(500, "internal", "Something of ours went wrong; nothing was changed by it."))
